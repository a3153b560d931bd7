import { expect } from 'chai'
import type { ChatRequest, Tool } from '../../../../core/contract/chat.ts'
import { bodyOf, errorOf, old } from './calls.ts'

const ring: Tool = { type: 'function', function: { name: 'ring', description: 'Rings.' } }

describe('converting tools for Gemini', () => {
  it('declares functions with their JSON schema', () => {
    const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
    const weather = { type: 'function', function: { name: 'get_weather', parameters, strict: false } }
    expect(bodyOf({ tools: [weather, ring] })).to.deep.include({
      tools: [
        {
          functionDeclarations: [
            { name: 'get_weather', parametersJsonSchema: parameters },
            { name: 'ring', description: 'Rings.' },
          ],
        },
      ],
    })
  })

  for (const parameters of [
    {},
    { type: 'object' },
    { type: 'object', properties: {}, required: [], additionalProperties: false },
  ]) {
    it(`omits the schema ${JSON.stringify(parameters)}`, () => {
      expect(schemaOf(parameters)).to.equal(undefined)
    })
  }

  for (const parameters of [
    { type: 'object', additionalProperties: { type: 'string' } },
    { $ref: '#/$defs/a' },
  ]) {
    it(`keeps the schema ${JSON.stringify(parameters)}`, () => {
      expect(schemaOf(parameters)).to.deep.equal(parameters)
    })
  }

  it('keeps $ref, additionalProperties and lists of types, and replaces const', () => {
    const parameters = {
      type: 'object',
      additionalProperties: false,
      properties: {
        unit: { const: 'celsius' },
        note: { type: ['string', 'null'], minLength: 1 },
        place: { $ref: '#/$defs/place' },
        const: { type: 'string', enum: ['const'] },
        any: { anyOf: [{ const: 1 }, { items: [{ const: true }] }] },
      },
      $defs: { place: { type: 'string', default: { const: 'untouched' } } },
    }
    expect(schemaOf(parameters)).to.deep.equal({
      ...parameters,
      properties: {
        ...parameters.properties,
        unit: { type: 'string', enum: ['celsius'] },
        any: {
          anyOf: [{ type: 'number', enum: [1] }, { items: [{ type: 'boolean', enum: [true] }] }],
        },
      },
    })
  })

  it('sends nothing for an empty list', () => {
    expect(bodyOf({ tools: [], tool_choice: 'auto' })).to.have.all.keys('contents', 'generationConfig')
  })

  it('rejects tools that are not functions', () => {
    const error = errorOf(() => bodyOf({ tools: [ring, { type: 'custom', custom: { name: 'x' } }] }))
    expect(error.code).to.equal('unsupported_parameter')
    expect(error.message).to.contain('tools[1]')
  })

  describe('the tool choice', () => {
    const named = { type: 'function', function: { name: 'ring' } }
    const allowed = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [named] } })
    const choices: [ChatRequest['tool_choice'], object | undefined][] = [
      [undefined, undefined],
      ['auto', undefined],
      ['none', { mode: 'NONE' }],
      ['required', { mode: 'ANY' }],
      [named, { mode: 'ANY', allowedFunctionNames: ['ring'] }],
      [allowed('required'), { mode: 'ANY', allowedFunctionNames: ['ring'] }],
      [allowed('auto'), { mode: 'VALIDATED', allowedFunctionNames: ['ring'] }],
    ]
    for (const [choice, config] of choices) {
      it(`${JSON.stringify(choice)} is converted to ${JSON.stringify(config)}`, () => {
        const body = bodyOf({ tools: [ring], ...(choice !== undefined && { tool_choice: choice }) })
        expect(body.toolConfig?.functionCallingConfig).to.deep.equal(config)
      })
    }

    it('enforces the schema of strict functions, from Gemini 3 on', () => {
      const strict = { type: 'function', function: { name: 'ring', strict: true } }
      expect(bodyOf({ tools: [strict] }).toolConfig?.functionCallingConfig.mode).to.equal('VALIDATED')
      expect(bodyOf({ tools: [strict] }, old)).not.to.have.property('toolConfig')
    })

    for (const choice of ['sometimes', { type: 'function' }, { allowed_tools: {} }]) {
      it(`${JSON.stringify(choice)} is rejected`, () => {
        const error = errorOf(() => bodyOf({ tools: [ring], tool_choice: choice }))
        expect(error.code).to.equal('invalid_value')
        expect(error.details.param).to.equal('tool_choice')
      })
    }
  })
})

function schemaOf(parameters: object): unknown {
  const tool = { type: 'function', function: { name: 'f', parameters: { ...parameters } } }
  return bodyOf({ tools: [tool] }).tools?.[0]?.functionDeclarations[0]?.parametersJsonSchema
}
