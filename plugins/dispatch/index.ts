export { createCallProvider, type DispatchServices } from './call-provider.ts'
export { dispatchExchange } from './dispatch.ts'
export { targetsToTry } from './next-target.ts'
