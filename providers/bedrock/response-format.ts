import type { ChatRequest } from '../../core/contract/chat.ts'
import { isJsonObject, type JsonObject } from '../../core/contract/json.ts'
import { toAnthropicResponseFormat } from '../anthropic/response-format.ts'
import { asObject, asString } from '../shared/fields.ts'
import { unsupportedParameterError } from '../shared/request-errors.ts'

/** A tool whose input is the reply, for models that take no schema. Its calls are converted to text. */
export const JSON_TOOL = 'json_reply_of_schema'

/** Makers whose models take a schema as that of a forced tool only. */
const WITHOUT_SCHEMAS = /(?:^|[./])(?:amazon|ai21|cohere|meta|writer)\./

/** The fields of Converse for a schema; none for other formats. */
interface ResponseFormat {
  readonly outputConfig?: JsonObject
  readonly toolConfig?: JsonObject
}

/**
 * https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html. Throws a `GatewayError` for
 * a schema beside tools, if the model takes it as a tool only.
 */
export function toConverseFormat({ response_format, tools }: ChatRequest, model: string): ResponseFormat {
  const format = toAnthropicResponseFormat(response_format)
  if (format === undefined) return {}
  const { name, description, schema } = asObject(response_format?.json_schema)
  if (!WITHOUT_SCHEMAS.test(model)) {
    const jsonSchema = {
      schema: JSON.stringify(format.schema),
      name: asString(name) || undefined,
      description: asString(description) || undefined,
    }
    return { outputConfig: { textFormat: { type: 'json_schema', structure: { jsonSchema } } } }
  }
  if ((tools?.length ?? 0) > 0)
    throw unsupportedParameterError('response_format', 'cannot be a schema beside tools for this model.')
  const json = isJsonObject(schema) ? schema : format.schema
  return {
    toolConfig: {
      tools: [{ toolSpec: { name: JSON_TOOL, description: 'Answers.', inputSchema: { json } } }],
      toolChoice: { tool: { name: JSON_TOOL } },
    },
  }
}
