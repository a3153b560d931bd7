import { type ChatRequest, type JsonObject, parseMode, type Tool } from '../../contract/index.ts'
import { compileParser } from '../../schema.ts'
import { routeRequestSchema } from './request-schema.ts'

interface RouteBody {
  readonly prompt: string
  readonly model_preferences?: readonly string[]
  readonly temperature?: number
  readonly max_tokens?: number
  readonly tools?: readonly Tool[]
  readonly tool_choice?: string
  readonly response_format?: { readonly type: string } & JsonObject
  readonly user_id?: string
  readonly cost_priority?: string
}

const readBody = compileParser<RouteBody>(routeRequestSchema)

/** The defaults of the interface ("Direct routing"). */
const DEFAULTS = { temperature: 0.7, max_tokens: 1000, cost_priority: 'balanced' }

/** Reads the body of `POST /route` into a chat request; what else it holds is ignored. */
export function readRouteRequest(body: JsonObject): ChatRequest {
  const { prompt, temperature, max_tokens, tools, tool_choice, response_format, user_id, cost_priority } = {
    ...DEFAULTS,
    ...readBody(body),
  }
  return {
    model: `auto:${parseMode(cost_priority) ?? 'balance'}`,
    messages: [{ role: 'user', content: prompt }],
    temperature,
    max_tokens,
    ...(tools && tools.length > 0 && { tools }),
    ...(tool_choice !== undefined && { tool_choice: readToolChoice(tool_choice) }),
    ...(response_format && { response_format }),
    ...(user_id !== undefined && { user: user_id }),
  }
}

/** Models to try before the automatic choice, in the caller's order. */
export function readPreferences(body: JsonObject): readonly string[] {
  return readBody(body).model_preferences ?? []
}

/** `auto`, `none` and `required` mean themselves, anything else is a tool's name. */
function readToolChoice(choice: string): string | JsonObject {
  return ['auto', 'none', 'required'].includes(choice)
    ? choice
    : { type: 'function', function: { name: choice } }
}
