import { isJsonObject, type JsonObject, type ReplyPart } from '../../contract/index.ts'
import type { ChunkLengths } from '../../events/domain-events.ts'

/** Writes down in which pieces an output comes. */
export function createChunkLengthRecorder() {
  const runs: number[][] = []
  let last = -1
  return {
    runs: runs as ChunkLengths,
    note(index: number, length: number): void {
      if (index !== last) runs.push([index])
      last = index
      runs.at(-1)?.push(length)
    },
  }
}

/** The reply that an output was made of, in the pieces in which it came; each text in one piece where no pace was kept. */
export function toReplyParts(
  output: readonly JsonObject[],
  pace: ChunkLengths = paceOf(output),
): readonly ReplyPart[] {
  const readers = createReaders(output)
  return pace.flatMap(([index = 0, ...lengths]) =>
    lengths.flatMap((length) => readers[index]?.(length) ?? []),
  )
}

/** Takes the next piece of one item. */
type Reader = (length: number) => readonly ReplyPart[]

function createReaders(output: readonly JsonObject[]): readonly Reader[] {
  let calls = 0
  return output.map((item) => (item.type === 'function_call' ? readCall(item, calls++) : readTexts(item)))
}

function readCall({ call_id, name, arguments: json, extra_content }: JsonObject, index: number): Reader {
  const start: ReplyPart = {
    type: 'tool-start',
    index,
    id: String(call_id),
    name: String(name),
    ...(isJsonObject(extra_content) && { extra_content }),
  }
  const rest = createScissors(String(json))
  return (length) => (length === 0 ? [start] : [{ type: 'tool-json', index, json: rest(length) }])
}

function readTexts(item: JsonObject): Reader {
  const contents = contentsOf(item).map(({ type, text }) => ({ type, text, rest: createScissors(text) }))
  let taken = 0
  return (length) => {
    const [content] = contents
    if (content === undefined) return []
    taken += length
    if (taken >= content.text.length) {
      contents.shift()
      taken = 0
    }
    return [{ type: content.type, text: content.rest(length) }]
  }
}

function createScissors(text: string): (length: number) => string {
  let from = 0
  return (length) => {
    from += length
    return text.slice(from - length, from)
  }
}

function paceOf(output: readonly JsonObject[]): ChunkLengths {
  return output.map((item, index) => [index, ...lengthsOf(item)])
}

function lengthsOf(item: JsonObject): readonly number[] {
  if (item.type === 'function_call') return [0, ...nonZero(String(item.arguments).length)]
  return contentsOf(item).flatMap(({ text }) => nonZero(text.length))
}

function nonZero(length: number): readonly number[] {
  return length === 0 ? [] : [length]
}

interface Text {
  readonly type: 'text' | 'refusal' | 'reasoning'
  readonly text: string
}

function contentsOf({ type, content, summary }: JsonObject): Text[] {
  const parts = type === 'reasoning' ? summary : content
  if (!Array.isArray(parts)) return []
  return parts.filter(isJsonObject).map((part) => textOf(part))
}

function textOf({ type, text, refusal }: JsonObject): Text {
  if (type === 'refusal') return { type: 'refusal', text: String(refusal) }
  return { type: type === 'summary_text' ? 'reasoning' : 'text', text: String(text) }
}
