import { service } from '../../core/contract/index.ts'
import type { ResponseStore } from './store.ts'

export { isFinishedResponse } from './conversation.ts'
export { createResponsesParser } from './dialect.ts'

/** Stored responses, for other plugins. */
export type Responses = Pick<ResponseStore, 'find'>

export const Responses = service<Responses>('responses')
