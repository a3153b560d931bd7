import { expect } from 'chai'
import { toAnthropicSchema } from '../../../../providers/anthropic/response-format.ts'
import { bodyOf, user } from './target.ts'

describe('converting response_format for Anthropic', () => {
  it('sends a schema together with the effort', () => {
    const schema = { type: 'object', properties: { track: { type: 'integer' } }, required: ['track'] }
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
    expect(bodyOf({ response_format, reasoning_effort: 'low' }).output_config).to.deep.equal({
      effort: 'low',
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    })
  })

  it('adds an instruction for a JSON object', () => {
    const messages = [{ role: 'system' as const, content: 'Be brief.' }, user]
    const body = bodyOf({ messages, response_format: { type: 'json_object' } })
    expect(body.system).to.match(/^Be brief\.\n\nAnswer with a single JSON object/)
    expect(body).not.to.have.property('output_config')
  })

  it('sends nothing for text', () => {
    expect(bodyOf({ response_format: { type: 'text' } })).not.to.have.any.keys('output_config', 'system')
  })

  it('rejects json_schema without a schema', () => {
    const param = 'response_format.json_schema.schema'
    expect(() => bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }))
      .to.throw()
      .that.deep.includes({ code: 'missing_parameter', details: { param } })
  })
})

describe('converting a schema for Anthropic', () => {
  it('disallows additional properties of all objects', () => {
    const inner = { type: ['object', 'null'], properties: { a: { type: 'string' } } }
    const schema = { type: 'object', additionalProperties: true, properties: { inner }, $defs: { inner } }
    const closed = { ...inner, additionalProperties: false }
    expect(toAnthropicSchema(schema)).to.deep.equal({
      type: 'object',
      additionalProperties: false,
      properties: { inner: closed },
      $defs: { inner: closed },
    })
  })

  it('converts oneOf to anyOf, and converts subschemas', () => {
    const number = { type: 'number', minimum: 1 }
    const reduced = { type: 'number', description: '{minimum: 1}' }
    expect(toAnthropicSchema({ oneOf: [number] })).to.deep.equal({ anyOf: [reduced] })
    expect(toAnthropicSchema({ allOf: [number] })).to.deep.equal({ allOf: [reduced] })
    expect(toAnthropicSchema({ type: 'array', items: number, minItems: 1 })).to.deep.equal({
      type: 'array',
      items: reduced,
      minItems: 1,
    })
  })

  it('moves constraints that cannot be enforced to the description', () => {
    const text = { type: 'string', description: 'A code', pattern: '^x$', maxLength: 3, format: 'regex' }
    expect(toAnthropicSchema(text)).to.deep.equal({
      type: 'string',
      description: 'A code\n\n{pattern: "^x$", maxLength: 3, format: "regex"}',
    })
    expect(toAnthropicSchema({ type: 'array', minItems: 2 })).to.deep.equal({
      type: 'array',
      description: '{minItems: 2}',
    })
  })

  it('keeps supported keywords', () => {
    const schema = { title: 'T', type: 'string', format: 'date', enum: ['a'], const: 'a' }
    expect(toAnthropicSchema({ ...schema, $schema: 'x', $comment: 'y' })).to.deep.equal(schema)
    expect(toAnthropicSchema({ $ref: '#/$defs/a' })).to.deep.equal({ $ref: '#/$defs/a' })
  })

  it('does not treat property names as keywords', () => {
    const properties = { minimum: { type: 'string' }, oneOf: { type: 'string' } }
    expect(toAnthropicSchema({ properties })).to.deep.equal({ properties, additionalProperties: false })
  })
})
