import type { Message, ToolCall } from '../contract/index.ts'

/**
 * Returns the arguments of an earlier call as JSON text. Models leave them out of calls of functions without
 * parameters, and providers reject an empty text: these are `{}`.
 */
export function toArgumentsText(json: unknown): string {
  return typeof json === 'string' && /\S/.test(json) ? json : '{}'
}

/** Fills in missing arguments of earlier calls of functions. Returns the same request if there are none. */
export function withCallArguments<R extends { readonly messages: readonly Message[] }>(request: R): R {
  if (!request.messages.some(({ tool_calls }) => tool_calls?.some(lacksArguments))) return request
  return { ...request, messages: request.messages.map(withArguments) }
}

function lacksArguments({ function: called }: Partial<ToolCall>): boolean {
  return called !== undefined && called.arguments !== toArgumentsText(called.arguments)
}

function withArguments(message: Message): Message {
  if (!message.tool_calls?.some(lacksArguments)) return message
  const tool_calls = message.tool_calls.map((call) =>
    lacksArguments(call) ? { ...call, function: { ...call.function, arguments: '{}' } } : call,
  )
  return { ...message, tool_calls }
}
