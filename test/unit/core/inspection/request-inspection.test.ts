import { expect } from 'chai'
import { type ChatRequest, isJsonObject, type JsonObject } from '../../../../core/contract/index.ts'
import type { Inspection } from '../../../../core/inspection/inspection.ts'
import { REQUEST } from '../../../../core/inspection/request-inspection.ts'
import { inspectedValues } from '../../../../core/inspection/request-texts.ts'
import { chatRequestSchema } from '../../../../plugins/dispatch/chat/request-schema.ts'
import { parseRouteRequest, routeRequestSchema } from '../../../../plugins/dispatch/direct-route.ts'
import { parseMessagesRequest } from '../../../../plugins/messages/parse-request.ts'
import { messagesRequestSchema } from '../../../../plugins/messages/request-schema.ts'
import {
  parseResponsesInput,
  parseResponsesRequest,
} from '../../../../providers/shared/responses-format/parse-request.ts'
import {
  type ResponsesBody,
  responsesRequestSchema,
} from '../../../../providers/shared/responses-format/request-schema.ts'
import { readGenerated } from '../../../support/generated-text.ts'
import { writeExemptions } from '../../../support/reference-tables.ts'

const COMPACTED = `signalbox1.${Buffer.from('text-compacted').toString('base64url')}`

describe('the positions of a request', () => {
  it('have a decision for every field of the chat schema', () => {
    expect(findUndecided(chatRequestSchema, REQUEST, '')).to.deep.equal([])
  })

  it('are exempt exactly as documented', () => {
    expect(readGenerated('docs/firewall-exemptions.md', 'exemptions')).to.equal(writeExemptions())
  })

  for (const [dialect, schema, bodies, parse] of [
    ['responses', responsesRequestSchema, responsesBodies(), parseResponses],
    ['messages', messagesRequestSchema, messagesBodies(), parseMessages],
    ['route', routeRequestSchema, routeBodies(), parseRouteRequest],
  ] as const) {
    it(`of ${dialect}: every field of the schema is in a body of this test`, () => {
      const names = new Set(bodies.flatMap(fieldNames))
      expect(schemaFields(schema).filter((name) => !names.has(name))).to.deep.equal([])
    })

    it(`of ${dialect}: every text is inspected, except the exempt ones`, async () => {
      for (const body of bodies) {
        const request = parse(body)
        const sent = JSON.stringify(request)
        const inspected = (await inspectedValues(request)).join('\n')
        for (const marker of JSON.stringify(body).match(/(?:text|exempt)-\w+/g) ?? []) {
          if (!sent.includes(marker)) continue
          expect(inspected.includes(marker), marker).to.equal(marker.startsWith('text-'))
        }
      }
    })
  }

  it('of a compacted conversation are those of its summary', async () => {
    const input = [{ type: 'compaction', encrypted_content: COMPACTED }]
    const inspected = await inspectedValues(parseResponses({ input }))
    expect(inspected.join('\n')).to.contain('text-compacted')
  })

  it('inspect a field that no schema knows, and its name', () => {
    const request: ChatRequest = { messages: [], unknown_field: { deeper: ['text'] } }
    expect(inspectedValues(request)).to.deep.equal(['unknown_field', 'deeper', 'text'])
  })
})

function parseResponses(body: JsonObject): ChatRequest {
  // The bodies of this test are valid.
  const valid = body as ResponsesBody
  return parseResponsesRequest(valid, [], parseResponsesInput(valid))
}

function parseMessages(body: JsonObject): ChatRequest {
  return parseMessagesRequest(body, {})
}

function messagesBodies(): readonly JsonObject[] {
  const cache_control = { type: 'ephemeral' }
  return [
    {
      model: 'exempt-model',
      max_tokens: 10,
      system: [{ type: 'text', text: 'text-system', cache_control }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'text-input' },
            { type: 'image', source: { type: 'url', url: 'https://text-image' } },
            {
              type: 'document',
              source: { type: 'text', media_type: 'text/plain', data: 'x' },
              title: 'text-title',
            },
            { type: 'document', source: { type: 'file', file_id: 'exempt-file' }, context: 'text-context' },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'text-thinking', signature: 'text-signature' },
            { type: 'redacted_thinking', data: 'text-data' },
            { type: 'tool_use', id: 'exempt-call', name: 'exempt-tool', input: { 'text-key': 'text-value' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'exempt-call', content: 'text-result', is_error: true },
          ],
        },
      ],
      tools: [
        {
          name: 'exempt-tool',
          type: 'custom',
          description: 'text-tooltext',
          input_schema: { properties: { 'text-property': {} } },
          strict: true,
        },
        { type: 'exempt-kind', name: 'exempt-search', allowed_domains: ['text-domain'] },
      ],
      tool_choice: { type: 'tool', name: 'exempt-tool', disable_parallel_tool_use: true },
      thinking: { type: 'text-kind', budget_tokens: 1024 },
      output_config: {
        effort: 'text-effort',
        format: { type: 'json_schema', schema: { title: 'text-schema' } },
      },
      stop_sequences: ['text-stop'],
      temperature: 1,
      top_p: 1,
      top_k: 1,
      metadata: { user_id: 'text-user' },
      service_tier: 'text-tier',
      cache_control,
      stream: true,
      // Refused before it is converted, unless it is null.
      thread: null,
    },
  ]
}

/** Texts are `text-…`, exempt texts `exempt-…`. */
function responsesBodies(): readonly JsonObject[] {
  return [
    {
      model: 'exempt-model',
      instructions: 'text-instructions',
      safety_identifier: 'text-safety',
      prompt_cache_key: 'text-cache',
      service_tier: 'default',
      presence_penalty: 0,
      frequency_penalty: 0,
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'text-input' }] },
        { role: 'assistant', content: [{ type: 'output_text', text: 'text-output' }] },
        { role: 'assistant', content: [{ type: 'refusal', refusal: 'text-refusal' }] },
        {
          role: 'user',
          content: [
            { type: 'input_image', image_url: 'https://text-image', detail: 'text-detail', file_id: 'x' },
            {
              type: 'input_file',
              file_id: 'exempt-file',
              file_data: 'text-file',
              file_url: 'https://text-url',
              filename: 'text-filename',
            },
            { type: 'input_file', file_url: 'https://text-fileurl' },
          ],
        },
        {
          type: 'reasoning',
          summary: [{ type: 'summary_text', text: 'text-summary' }],
          content: [{ type: 'reasoning_text', text: 'text-reasoning' }],
          encrypted_content: 'text-encrypted',
        },
        {
          type: 'function_call',
          call_id: 'exempt-call',
          id: 'exempt-item',
          name: 'exempt-function',
          namespace: 'exempt-space',
          arguments: '{"text-key":"text-argument"}',
          extra_content: { google: { thought_signature: 'text-signature' } },
        },
        { type: 'function_call_output', call_id: 'exempt-call', output: 'text-result' },
        { type: 'image_generation_call', result: 'AAAA', output_format: 'webp' },
        {
          type: 'custom_tool_call',
          call_id: 'exempt-custom',
          name: 'exempt-customtool',
          input: 'text-patch',
        },
        { type: 'custom_tool_call_output', call_id: 'exempt-custom', output: 'text-patched' },
        {
          type: 'tool_search_call',
          call_id: 'exempt-search',
          execution: 'client',
          arguments: { query: 'text-query' },
        },
        {
          type: 'tool_search_output',
          call_id: 'exempt-search',
          // The names of what was found are inspected as part of the result.
          tools: [{ type: 'function', name: 'text-found', description: 'text-foundtext', parameters: {} }],
        },
        { type: 'compaction', encrypted_content: COMPACTED },
      ],
      max_output_tokens: 10,
      max_tool_calls: 3,
      temperature: 1,
      top_p: 1,
      stream: true,
      store: true,
      generate: true,
      // Not stored at the provider, so it is not sent.
      metadata: { 'exempt-metakey': 'exempt-metadata' },
      user: 'text-user',
      previous_response_id: 'exempt-previous',
      parallel_tool_calls: true,
      tools: [
        {
          type: 'tool_search',
          execution: 'client',
          description: 'text-searchtext',
          parameters: { type: 'object', properties: { 'text-searched': { type: 'string' } } },
        },
        {
          type: 'function',
          name: 'exempt-tool',
          description: 'text-tooltext',
          parameters: { type: 'object', properties: { 'text-property': { type: 'string' } } },
          strict: true,
        },
        {
          type: 'namespace',
          name: 'exempt-space',
          description: 'text-spacetext',
          tools: [
            {
              type: 'custom',
              name: 'exempt-customtool',
              description: 'text-customtext',
              format: { type: 'grammar', syntax: 'lark', definition: 'text-grammar' },
            },
          ],
        },
      ],
      tool_choice: { type: 'function', name: 'exempt-tool' },
      text: {
        format: {
          type: 'json_schema',
          name: 'text-schemaname',
          description: 'text-schematext',
          schema: { title: 'text-title' },
          strict: true,
        },
        verbosity: 'text-verbosity',
      },
      reasoning: { effort: 'text-effort', summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      truncation: 'auto',
      top_logprobs: null,
    },
  ]
}

function routeBodies(): readonly JsonObject[] {
  return [
    {
      prompt: 'text-prompt',
      model_preferences: ['exempt-model'],
      temperature: 1,
      max_tokens: 5,
      tools: [
        {
          type: 'function',
          function: {
            name: 'exempt-tool',
            description: 'text-tooltext',
            parameters: { title: 'text-title' },
            strict: true,
          },
        },
      ],
      tool_choice: 'exempt-tool',
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'text-schemaname', schema: { title: 'text-title' } },
      },
      user_id: 'text-user',
      cost_priority: 'speed',
    },
  ]
}

/** The paths of the fields in a schema that the table does not list. */
function findUndecided(schema: JsonObject, inspection: Inspection, path: string): readonly string[] {
  const undecided: string[] = []
  for (const [name, field] of Object.entries(fieldsOf(schema))) {
    const known = inspection.fields?.get(name)
    if (known === undefined) undecided.push(`${path}${name}`)
    else undecided.push(...findUndecided(field, known, `${path}${name}.`))
  }
  return undecided
}

/** The fields of an object, or of each object in a list. */
function fieldsOf(schema: JsonObject): Readonly<Record<string, JsonObject>> {
  const { items, properties } = schema
  // The cast is safe: the properties of a schema are schemas.
  if (isJsonObject(properties)) return properties as Record<string, JsonObject>
  return isJsonObject(items) ? fieldsOf(items) : {}
}

/** The names of all fields in a schema, including those of its conditional parts. */
function schemaFields(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return schema.flatMap(schemaFields)
  if (!isJsonObject(schema)) return []
  const own = isJsonObject(schema.properties) ? Object.keys(schema.properties) : []
  return [...own, ...Object.values(schema).flatMap(schemaFields)]
}

function fieldNames(value: unknown): readonly string[] {
  if (Array.isArray(value)) return value.flatMap(fieldNames)
  return isJsonObject(value) ? [...Object.keys(value), ...Object.values(value).flatMap(fieldNames)] : []
}
