import{Nb as a,Ob as b}from"./core.js";export{b as default,a as drawPage};
