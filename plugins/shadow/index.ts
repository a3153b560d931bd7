export { createShadowAction } from './action.ts'
