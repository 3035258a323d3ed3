import{db as a,eb as b}from"./core.js";export{b as default,a as drawPage};
