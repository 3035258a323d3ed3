import{Qb as a,Rb as b}from"./core.js";export{b as default,a as drawPage};
