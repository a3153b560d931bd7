import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { Refusal } from '../refusal.ts'

export interface Turn {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
}

/** Reads the turns of a conversation. Throws a `Refusal` (400) for calls without signature or without all their results. */
export function readContents(contents: unknown, signs: boolean): readonly Turn[] {
  const list = Array.isArray(contents) ? contents : [contents]
  if (contents === undefined || list.length === 0) {
    throw new Refusal(400, '* GenerateContentRequest.contents: contents is not specified')
  }
  const turns = list.map(readTurn)
  for (const [index, turn] of turns.entries()) {
    if (signs) checkSignature(turn, index)
    checkResults(turn, turns[index - 1], index)
  }
  return turns
}

function readTurn(content: unknown, index: number): Turn {
  const { role = 'user', parts } = isJsonObject(content) ? content : {}
  if (role !== 'user' && role !== 'model') throw new Refusal(400, 'Please use a valid role: user, model.')
  if (!Array.isArray(parts) || parts.length === 0 || !parts.every(isJsonObject)) {
    throw new Refusal(
      400,
      `* GenerateContentRequest.contents[${index}].parts: contents.parts must not be empty.`,
    )
  }
  return { role, parts }
}

/** Only the first of parallel calls has one. */
function checkSignature({ parts }: Turn, index: number): void {
  const call = parts.find(({ functionCall }) => functionCall !== undefined)
  if (!call || (typeof call.thoughtSignature === 'string' && call.thoughtSignature !== '')) return
  throw new Refusal(
    400,
    `Function call is missing a thought_signature in functionCall parts, position ${index + 1}.`,
  )
}

function checkResults({ parts }: Turn, before: Turn | undefined, index: number): void {
  const results = parts.filter(({ functionResponse }) => functionResponse !== undefined)
  const calls = (before?.parts ?? []).filter(({ functionCall }) => functionCall !== undefined)
  if (results.length !== calls.length) {
    throw new Refusal(
      400,
      'Please ensure that the number of function response parts is equal to the number of function call parts ' +
        'of the function call turn.',
    )
  }
  for (const { functionResponse: result } of results) {
    if (isJsonObject(result) && typeof result.name === 'string' && isJsonObject(result.response)) continue
    throw new Refusal(
      400,
      `Invalid value at 'contents[${index}].parts': a function_response needs name and response.`,
    )
  }
}

/** The texts of a turn. */
export function readTexts({ parts }: Turn): readonly string[] {
  return parts.map(({ text }) => text).filter((text) => typeof text === 'string')
}

/** What the tools answered at the end of a turn, each as text. */
export function readLastResults({ parts }: Turn): readonly string[] {
  const last = parts.findLastIndex(({ functionResponse }) => functionResponse === undefined)
  return parts.slice(last + 1).map(({ functionResponse: result }) => {
    const response = isJsonObject(result) ? result.response : undefined
    const output = isJsonObject(response) ? response.output : undefined
    return typeof output === 'string' ? output : JSON.stringify(response)
  })
}
