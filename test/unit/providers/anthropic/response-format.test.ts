import { expect } from 'chai'
import { reduceSchema } from '../../../../providers/anthropic/reduce-schema.ts'
import { bodyOf, user } from './target.ts'

describe('writing response_format to Anthropic', () => {
  it('sends a schema beside the effort', () => {
    const schema = { type: 'object', properties: { track: { type: 'integer' } }, required: ['track'] }
    const response_format = { type: 'json_schema', json_schema: { name: 'answer', strict: true, schema } }
    expect(bodyOf({ response_format, reasoning_effort: 'low' }).output_config).to.deep.equal({
      effort: 'low',
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    })
  })

  it('asks for a JSON object in words', () => {
    const messages = [{ role: 'system' as const, content: 'Be brief.' }, user]
    const body = bodyOf({ messages, response_format: { type: 'json_object' } })
    expect(body.system).to.match(/^Be brief\.\n\nAnswer with a single JSON object/)
    expect(body).not.to.have.property('output_config')
  })

  it('says nothing of text', () => {
    expect(bodyOf({ response_format: { type: 'text' } })).not.to.have.any.keys('output_config', 'system')
  })

  it('refuses a schema format without its schema', () => {
    const param = 'response_format.json_schema.schema'
    expect(() => bodyOf({ response_format: { type: 'json_schema', json_schema: { name: 'x' } } }))
      .to.throw()
      .that.deep.includes({ code: 'missing_parameter', details: { param } })
  })
})

describe('reducing a schema for Anthropic', () => {
  it('closes every object', () => {
    const inner = { type: ['object', 'null'], properties: { a: { type: 'string' } } }
    const schema = { type: 'object', additionalProperties: true, properties: { inner }, $defs: { inner } }
    const closed = { ...inner, additionalProperties: false }
    expect(reduceSchema(schema)).to.deep.equal({
      type: 'object',
      additionalProperties: false,
      properties: { inner: closed },
      $defs: { inner: closed },
    })
  })

  it('turns oneOf into anyOf, and goes into both', () => {
    const number = { type: 'number', minimum: 1 }
    const reduced = { type: 'number', description: '{minimum: 1}' }
    expect(reduceSchema({ oneOf: [number] })).to.deep.equal({ anyOf: [reduced] })
    expect(reduceSchema({ allOf: [number] })).to.deep.equal({ allOf: [reduced] })
    expect(reduceSchema({ type: 'array', items: number, minItems: 1 })).to.deep.equal({
      type: 'array',
      items: reduced,
      minItems: 1,
    })
  })

  it('tells the model what cannot be enforced', () => {
    const text = { type: 'string', description: 'A code', pattern: '^x$', maxLength: 3, format: 'regex' }
    expect(reduceSchema(text)).to.deep.equal({
      type: 'string',
      description: 'A code\n\n{pattern: "^x$", maxLength: 3, format: "regex"}',
    })
    expect(reduceSchema({ type: 'array', minItems: 2 })).to.deep.equal({
      type: 'array',
      description: '{minItems: 2}',
    })
  })

  it('keeps what can be', () => {
    const schema = { title: 'T', type: 'string', format: 'date', enum: ['a'], const: 'a' }
    expect(reduceSchema({ ...schema, $schema: 'x', $comment: 'y' })).to.deep.equal(schema)
    expect(reduceSchema({ $ref: '#/$defs/a' })).to.deep.equal({ $ref: '#/$defs/a' })
  })

  it('takes names of properties for names', () => {
    const properties = { minimum: { type: 'string' }, oneOf: { type: 'string' } }
    expect(reduceSchema({ properties })).to.deep.equal({ properties, additionalProperties: false })
  })
})
