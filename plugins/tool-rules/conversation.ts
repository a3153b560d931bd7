import { type ChatRequest, isJsonObject, type JsonObject, type Message } from '../../core/contract/index.ts'
import { readToolName } from './tool-name.ts'

/** Returns the name of a tool or a call: of a function, or of a custom tool. */
function calledName({ function: called, custom }: JsonObject): string | undefined {
  const { name } = asObject(called ?? custom)
  return typeof name === 'string' ? name : undefined
}

const asObject = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** Tools that Anthropic defines and the client runs. */
const CLIENT_TYPES = /^(?:bash|computer|memory|text_editor)_\d/

/** Returns the name of a tool that the client runs; undefined for those that the provider runs. */
export function definedName(tool: JsonObject): string | undefined {
  const name = calledName(tool)
  if (name !== undefined) return name
  const native = asObject(asObject(tool.extra_content).anthropic)
  const isOfClient = typeof native.type === 'string' && CLIENT_TYPES.test(native.type)
  return isOfClient && typeof native.name === 'string' ? native.name : undefined
}

/** Names of the servers whose results are in the messages: those of the calls that they answer. */
export function findReadServers(messages: readonly Message[]): ReadonlySet<string> {
  const read = new Set<string>()
  const answered = new Set<unknown>()
  for (const { role, tool_call_id: id } of messages) if (role === 'tool') answered.add(id)
  if (answered.size === 0) return read
  for (const { tool_calls: calls } of messages)
    for (const call of calls ?? []) {
      const name = answered.has(call.id) ? calledName(call) : undefined
      if (name === undefined) continue
      for (const { server } of readToolName(name).readings) read.add(server)
    }
  return read
}

/**
 * Returns the request without the definitions of these tools. Providers refuse a conversation with calls and
 * no tools: there the definitions stay, and the model may not call any.
 */
export function withoutTools(request: ChatRequest, hidden: ReadonlySet<string>): ChatRequest {
  const tools = (request.tools ?? []).filter((tool) => !isHidden(definedName(tool), hidden))
  if (tools.length > 0) return withChoice({ ...request, tools }, hidden)
  if (request.messages.some(({ tool_calls: calls }) => calls != null && calls.length > 0))
    return { ...request, tool_choice: 'none' }
  const { tools: _tools, tool_choice: _choice, parallel_tool_calls: _parallel, ...rest } = request
  return rest
}

function isHidden(name: string | undefined, hidden: ReadonlySet<string>): boolean {
  return name !== undefined && hidden.has(name)
}

/** A choice must not name what is not there. */
function withChoice(request: ChatRequest, hidden: ReadonlySet<string>): ChatRequest {
  const { tool_choice: choice, ...rest } = request
  if (!isJsonObject(choice)) return request
  if (isHidden(calledName(choice), hidden)) return rest
  const { allowed_tools: allowed } = choice
  if (!isJsonObject(allowed) || !Array.isArray(allowed.tools)) return request
  const tools = allowed.tools.filter((tool) => !isHidden(calledName(asObject(tool)), hidden))
  if (tools.length === allowed.tools.length) return request
  if (tools.length === 0) return { ...request, tool_choice: 'none' }
  return { ...request, tool_choice: { ...choice, allowed_tools: { ...allowed, tools } } }
}

/** Returns the messages with others in the places that `isOf` chooses. */
export function replaceMessages(
  messages: readonly Message[],
  isOf: (message: Message) => boolean,
  replacements: readonly Message[],
): readonly Message[] {
  const next = replacements.values()
  return messages.map((message) => (isOf(message) ? { ...message, ...next.next().value } : message))
}
