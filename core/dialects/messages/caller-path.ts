import { isJsonObject, type JsonObject } from '../../contract/index.ts'

/**
 * Returns where the caller wrote what an error calls by its path in the canonical request, such as
 * `messages[1].content[0].file.file_url`. See `parseMessages`.
 */
export function toMessagesPath(path: string, { system, messages, thinking }: JsonObject): string {
  const [, index, , partIndex, rest = ''] = PATH.exec(path) ?? []
  if (path === 'reasoning_effort' && thinking != null) return 'thinking'
  if (index === undefined || !Array.isArray(messages)) return toToolPath(path)
  const part = partIndex === undefined ? undefined : Number(partIndex)
  const hasSystem = (typeof system === 'string' || Array.isArray(system)) && system.length > 0
  let position = Number(index) - (hasSystem ? 1 : 0)
  if (position < 0) return part === undefined ? 'system' : `system[${part}]`
  for (const [messageIndex, { role, content }] of messages.filter(isJsonObject).entries()) {
    const own = `messages[${messageIndex}]`
    const blocks = Array.isArray(content) ? content.filter(isJsonObject) : []
    const indexesOf = (isWanted: (type: unknown) => boolean) =>
      [...blocks.keys()].filter((each) => isWanted(blocks[each]?.type))
    const results = role === 'user' ? indexesOf((type) => type === 'tool_result') : []
    if (position < results.length) {
      const result = `${own}.content[${results[position]}]`
      return (part === undefined ? result : `${result}.content[${part}]`) + toBlockPath(rest)
    }
    position -= results.length
    const hasOthers = results.length === 0 || results.length < blocks.length
    if (position === 0 && hasOthers) {
      const [, call] = /^\.tool_calls\[(\d+)\]/.exec(rest) ?? []
      if (call !== undefined) return `${own}.content[${indexesOf(isCall)[Number(call)] ?? 0}]`
      const others = indexesOf((type) => type !== 'tool_result')
      return part === undefined ? own : `${own}.content[${others[part] ?? part}]${toBlockPath(rest)}`
    }
    if (hasOthers) position--
  }
  return 'messages'
}

const PATH = /^messages\[(\d+)\](\.content(?:\[(\d+)\])?)?(.*)$/

function toToolPath(path: string): string {
  return path
    .replace(/^(tools\[\d+\]|tool_choice)\.function/, '$1')
    .replace(/^(tools\[\d+\])\.parameters/, '$1.input_schema')
}

const isCall = (type: unknown) => type === 'tool_use'

function toBlockPath(rest: string): string {
  return rest
    .replace(/^\.image_url(\.url)?$/, '.source')
    .replace(/^\.file\.file_(data|url|id)$/, '.source')
    .replace(/^\.file$/, '.source')
    .replace(/^\.tool_call_id$/, '.tool_use_id')
}
