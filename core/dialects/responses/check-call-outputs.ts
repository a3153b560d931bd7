import { GatewayError, type Message } from '../../contract/index.ts'
import type { ResponsesBody } from './request-schema.ts'

const MAX_SHOWN_CHARS = 64

/**
 * Throws 400, as OpenAI does, for the output of a call that neither the input nor an earlier turn has.
 * `input` has the messages of the body's items.
 */
export function checkCallOutputs(
  { input: items }: Pick<ResponsesBody, 'input'>,
  earlier: readonly Message[],
  input: readonly Message[],
): void {
  if (!input.some(({ role }) => role === 'tool')) return
  const calls = [...earlier, ...input].flatMap(({ tool_calls }) => tool_calls ?? [])
  const known = new Set(calls.map(({ id }) => id))
  const missing = input.find(({ role, tool_call_id }) => role === 'tool' && !known.has(tool_call_id ?? ''))
  if (missing === undefined) return
  const id = missing.tool_call_id ?? ''
  const index = typeof items === 'string' ? 0 : items.findIndex(({ call_id }) => String(call_id) === id)
  const shown = id.slice(0, MAX_SHOWN_CHARS)
  const param = `input[${index}].call_id`
  const message = `${param} names no tool call of this conversation: ${shown}. Send the call, too.`
  throw new GatewayError('invalid_value', message, { param, quoted: shown })
}
