import type { ResponseForm } from '../../core/dialects/response-form.ts'
import type { ClientTools } from '../../providers/shared/responses-format/client-tools.ts'
import { parseItems } from '../../providers/shared/responses-format/input-items.ts'
import type { InputItem, ResponsesBody } from '../../providers/shared/responses-format/request-schema.ts'

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

/** The names in the Responses API of fields that the canonical request calls otherwise. */
export const RESPONSES_NAMES: Readonly<Record<string, string>> = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  reasoning_effort: 'reasoning.effort',
  response_format: 'text.format',
  verbosity: 'text.verbosity',
}

/**
 * Returns where the caller wrote what an error calls by its path in the canonical request, such as
 * `messages[1].content[0].file.file_data`. `messageCount` is the number of messages of that request.
 */
export function toResponsesPath(path: string, call: ResponsesCall, messageCount: number): string {
  const [, index, rest = ''] = /^messages\[(\d+)\](.*)$/.exec(path) ?? []
  if (index !== undefined) return toInputPath(call, Number(index), rest, messageCount)
  if (Object.hasOwn(RESPONSES_NAMES, path)) return RESPONSES_NAMES[path] ?? path
  return path
    .replace(/^response_format(?:\.json_schema)?\./, 'text.format.')
    .replace(/^(tools\[\d+\]|tool_choice)\.function(?=\.|$)/, '$1')
}

function toInputPath({ body, ...call }: ResponsesCall, index: number, rest: string, count: number): string {
  const ownIndex = index - (count - call.inputCount)
  if (ownIndex < 0) return index === 0 && body.instructions ? 'instructions' : 'previous_response_id'
  if (typeof body.input === 'string') return 'input'
  const messageIndexes: number[] = []
  parseItems(body.input, 'input', messageIndexes)
  const ofMessage = body.input.flatMap((item, i) => (messageIndexes[i] === ownIndex ? [{ item, i }] : []))
  const [, callIndex, field = ''] = /^\.tool_calls\[(\d+)\](?:\.function)?(.*)$/.exec(rest) ?? []
  if (callIndex !== undefined) {
    const found = ofMessage.filter(({ item }) => isToolCall(item))[Number(callIndex)]
    return found ? `input[${found.i}]${field}` : 'input'
  }
  const found = ofMessage.find(({ item }) => item.content !== undefined && !isReasoning(item)) ?? ofMessage[0]
  return found ? `input[${found.i}]${toItemPath(found.item, rest)}` : 'input'
}

function isToolCall({ type }: InputItem): boolean {
  return type === 'function_call' || type === 'custom_tool_call' || type === 'tool_search_call'
}

function isReasoning({ type }: InputItem): boolean {
  return type === 'reasoning'
}

/** Converts a path in a canonical message to that in its item. Parts are flat there. */
function toItemPath({ output }: InputItem, path: string): string {
  const isResult = output !== undefined
  return path
    .replace(/^\.tool_call_id$/, '.call_id')
    .replace(/^\.content/, isResult ? '.output' : '.content')
    .replace(/(\[\d+\])\.file(?=\.|$)/, '$1')
    .replace(/\.image_url\.url$/, '.image_url')
}
