import type { JsonObject } from '../../core/contract/index.ts'
import type { Answers } from './operation.ts'
import { closed, integer, list, orNull, ref, text } from './schema.ts'

const general = {
  message: text,
  type: text,
  http_status: integer,
  'retry_after?': integer,
  'errors?': { type: 'object', additionalProperties: list(text) },
}

/** The shapes of errors (docs/api.md, "Errors"). */
export const errorSchemas: JsonObject = {
  Error: closed({ error: closed(general) }),
  ErrorWithParameter: closed({ error: closed({ ...general, 'param?': text }) }),
  MessageError: closed({ error: closed({ message: text }) }),
  BlockedError: closed({ error: closed({ message: text, meta: closed({ rule_id: integer }) }) }),
  ChatError: closed({
    error: closed({
      message: text,
      type: text,
      param: orNull(text),
      code: text,
      http_status: integer,
      'retry_after?': integer,
    }),
  }),
  RouteError: closed({
    error: closed({ type: text, message: text, code: text, 'param?': text, 'retry_after?': integer }),
  }),
}

/** The same shape for each of these statuses, and for what any endpoint may answer. */
export function errors(name: string, ...statuses: readonly number[]): Answers {
  return Object.fromEntries([...statuses, 500, 503].map((status) => [status, ref(name)]))
}

/** What endpoints for users may answer besides. */
export function userErrors(name: string, ...statuses: readonly number[]): Answers {
  return errors(name, 401, 429, ...statuses)
}

/** What an inference endpoint may answer; 403 is a firewall block. */
export function inferenceErrors(name: string): Answers {
  return { ...userErrors(name, 400, 404, 408, 413, 502, 504), 403: ref('BlockedError') }
}
