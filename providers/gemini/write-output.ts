import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import { readObject } from '../read-fields.ts'
import type { Family } from './family.ts'
import type { GenerationConfig } from './wire.ts'
import { writeResponseSchema } from './write-response-schema.ts'

type Output = Pick<GenerationConfig, 'responseMimeType' | 'responseJsonSchema'>

/** The form of the answer: https://ai.google.dev/gemini-api/docs/structured-output */
export function writeOutput({ response_format: format, tools }: ChatRequest, family: Family): Output {
  if (format == null) return {}
  if (format.type === 'text') return { responseMimeType: 'text/plain' }
  if (family === 'gemini-2' && tools != null && tools.length > 0) {
    throw unsupported('Gemini models before 3 cannot answer in JSON when there are tools.')
  }
  switch (format.type) {
    case 'json_object':
      return { responseMimeType: 'application/json' }
    case 'json_schema': {
      const { schema } = readObject(format.json_schema)
      return { responseMimeType: 'application/json', responseJsonSchema: writeResponseSchema(schema) }
    }
    default:
      throw unsupported(`gemini knows no response_format of type "${format.type}".`)
  }
}

function unsupported(message: string): GatewayError {
  return new GatewayError('unsupported_parameter', message, { param: 'response_format' })
}
