import { service } from '../../core/contract/index.ts'
import type { ResponseStore } from './store.ts'

/** Stored responses, for other plugins. */
export type Responses = Pick<ResponseStore, 'find'>

export const Responses = service<Responses>('responses')
