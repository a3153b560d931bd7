import type { ResponseForm } from '../response-form.ts'
import type { ClientTools } from './client-tools.ts'
import type { ResponsesBody } from './request-schema.ts'

/** Data about a call of the Responses API in addition to its exchange. */
export interface ResponsesCall {
  readonly body: ResponsesBody
  /** The client tools of the request, with those that searches found. */
  readonly clientTools: ClientTools
  /**
   * The 24 characters that the response id (`resp_…`) and the request id of the call (`req_…`) share.
   * Clients may refer to the response by either id.
   */
  readonly responseKey: string
  /** Unix time in seconds. */
  readonly createdAt: number
  /** The form of the response, unless it is streamed: streams always have OpenAI's form. */
  readonly form: ResponseForm
  /** The form that plain HTTP tools see when they read the stored response. */
  readonly plainToolForm: ResponseForm
  /** Number of canonical messages that come from the call's own input. They are the last ones. */
  readonly inputCount: number
  /** Number of canonical messages that come from earlier turns. They precede the input. */
  readonly earlierCount: number
}

/** Returns the response key in `resp_…` or `req_…`; undefined for any other text. */
export function parseResponseKey(id: string): string | undefined {
  return /^(?:resp|req)_([0-9A-Za-z]{24})$/.exec(id)?.[1]
}

/** Text input is answered in the interface's form if the client is a plain HTTP tool. */
export function toPlainToolForm({ input }: ResponsesBody): ResponseForm {
  return typeof input === 'string' ? 'interface' : 'openai'
}
