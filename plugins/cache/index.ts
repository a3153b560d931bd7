export { cacheAction } from './options.ts'
