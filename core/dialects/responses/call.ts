import type { IncomingHttpHeaders } from 'node:http'
import type { ResponseForm } from '../../events/domain-events.ts'
import type { ResponsesBody } from './request-schema.ts'

/** Data about a call of the Responses API in addition to its exchange. */
export interface ResponsesCall {
  readonly body: ResponsesBody
  /**
   * The 24 characters that the response id (`resp_…`) and the request id of the call (`req_…`) share.
   * Clients may refer to the response by either id.
   */
  readonly responseKey: string
  /** Unix time in seconds. */
  readonly createdAt: number
  readonly form: ResponseForm
  /** Number of canonical messages that come from the call's own input. They are the last ones. */
  readonly inputCount: number
  /** Number of canonical messages that come from earlier turns. They precede the input. */
  readonly earlierCount: number
}

/** Returns the response key in `resp_…` or `req_…`; undefined for any other text. */
export function parseResponseKey(id: string): string | undefined {
  return /^(?:resp|req)_([0-9A-Za-z]{24})$/.exec(id)?.[1]
}

/** Chooses the form of the response (docs/api.md, "Response object"). Streams always have OpenAI's form. */
export function chooseResponseForm(
  { input, stream }: ResponsesBody,
  headers: IncomingHttpHeaders,
): ResponseForm {
  return typeof input !== 'string' || stream === true || isOpenAiClient(headers) ? 'openai' : 'interface'
}

/** True if the client expects OpenAI's form of the Responses API rather than the gateway's own form. */
export function isOpenAiClient(headers: IncomingHttpHeaders): boolean {
  return (
    headers['openai-beta'] !== undefined ||
    headers['x-stainless-lang'] !== undefined ||
    OPENAI_USER_AGENTS.test(headers['user-agent'] ?? '')
  )
}

/** User agents of SDKs and agents that parse OpenAI responses. */
const OPENAI_USER_AGENTS = /openai|ai-sdk|litellm|codex/i
