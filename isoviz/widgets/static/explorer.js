import{hb as a,ib as b}from"./core.js";export{b as default,a as drawPage};
