import{Gb as a,Hb as b}from"./core.js";export{b as default,a as drawPage};
