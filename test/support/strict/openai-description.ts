import { readFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { Loose } from '../openapi.ts'
import type { AnswerKind, RecordedAnswer } from './record-answers.ts'

const SCHEMAS: Readonly<Partial<Record<AnswerKind, string>>> = {
  completion: 'CreateChatCompletionResponse',
  chunk: 'CreateChatCompletionStreamResponse',
  response: 'Response',
  event: 'ResponseStreamEvent',
  'input items': 'ResponseItemList',
  model: 'Model',
  models: 'ListModelsResponse',
  error: 'ErrorResponse',
  'text completion': 'CreateCompletionResponse',
  'text chunk': 'TextChunk',
  embeddings: 'CreateEmbeddingResponse',
  moderation: 'CreateModerationResponse',
}

/** Returns a function that lists the violations of OpenAI's API description, a JSON file. */
export async function loadOpenAiJudge(file: string): Promise<(answer: RecordedAnswer) => readonly string[]> {
  const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
  // Some schemas have OpenAPI 3.0's `nullable`.
  const description = JSON.parse(await readFile(file, 'utf8'), (_, value) => {
    if (value?.nullable !== true) return value
    const { nullable: __, ...schema } = value
    return { anyOf: [schema, { type: 'null' }] }
  })
  const { schemas } = description.components
  schemas.TextChunk = toTextChunk(schemas.CreateCompletionResponse)
  ajv.addSchema({ $id: 'openai', ...description })
  return ({ kind, value }) => {
    const validate = ajv.getSchema(`openai#/components/schemas/${SCHEMAS[kind]}`)
    if (validate === undefined) throw new Error(`${file} has no schema ${SCHEMAS[kind]}.`)
    if (validate(value)) return []
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
  }
}

/**
 * The description has one schema for whole completions and for the records of streams, in which OpenAI's API
 * sends null for the reason and the usage until the text ends.
 */
function toTextChunk(completion: Loose): Loose {
  const chunk = structuredClone(completion)
  const makeNullable = (properties: Loose, name: string) => {
    properties[name] = { anyOf: [properties[name], { type: 'null' }] }
  }
  makeNullable(chunk.properties, 'usage')
  makeNullable(chunk.properties.choices.items.properties, 'finish_reason')
  return chunk
}
