import{kb as a,lb as b}from"./core.js";export{b as default,a as drawPage};
