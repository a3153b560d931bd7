export type { Dialect } from '../contract/index.ts'
