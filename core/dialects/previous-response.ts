import { slot } from '../contract/index.ts'

/** The response that a request of the Responses API continues: `resp_…`, or the id of its request. */
export const PreviousResponse = slot<string>('previous-response')
