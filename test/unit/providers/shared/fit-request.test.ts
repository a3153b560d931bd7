import { expect } from 'chai'
import type { ChatRequest } from '../../../../core/contract/index.ts'
import { MISTRAL_LIMITS, OPENAI_LIMITS } from '../../../../providers/shared/api-limits.ts'
import { fitRequest } from '../../../../providers/shared/fit-request.ts'
import { mergeRoot } from '../../../../providers/shared/merge-root.ts'
import { ROUNDS } from '../../../support/rounds.ts'

const tool = (name: string) => ({ type: 'function', function: { name } })
const call = (id: string, name = 'read') => ({ id, type: 'function', function: { name, arguments: '{}' } })

const withTools = (...names: string[]): ChatRequest => ({
  messages: [{ role: 'user', content: 'Hi' }],
  tools: names.map(tool),
})

const namesOf = (request: ChatRequest) =>
  fitRequest(request, OPENAI_LIMITS).request.tools?.map((each) => each.function?.name)

describe('fitting a request to the limits of an API', () => {
  it('returns a request that keeps to them as it is', () => {
    const request: ChatRequest = {
      messages: [
        { role: 'user', name: 'ada', content: 'Hi' },
        { role: 'assistant', tool_calls: [call('call_1')] },
        { role: 'tool', tool_call_id: 'call_1', content: 'x' },
      ],
      tools: [tool('read')],
      stop: ['a'],
      seed: 7,
      user: 'u',
    }
    expect(fitRequest(request, OPENAI_LIMITS).request).to.equal(request)
  })

  it('shortens a name in the same way whatever the other tools are', () => {
    const long = `mcp__server__${'x'.repeat(60)}__read`
    const [first] = namesOf(withTools(long)) ?? []
    expect(first)
      .to.match(/^mcp__server__.+__read_\w{8}$/)
      .and.have.length(64)
    expect(namesOf(withTools('read', `${long}2`, long))?.[2]).to.equal(first)
  })

  it('keeps names apart that would be the same', () => {
    const names = ['a.b', 'a b', 'a/b', 'a_b', 'ä', 'ö']
    expect(new Set(namesOf(withTools(...names))).size).to.equal(names.length)
  })

  it('gives ids the same form in calls and results, always the same', () => {
    const history = (...ids: string[]): ChatRequest => ({
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', tool_calls: ids.map((id) => call(id)) },
        ...ids.map((id) => ({ role: 'tool' as const, tool_call_id: id, content: 'x' })),
      ],
    })
    const messagesOf = (...ids: string[]) => fitRequest(history(...ids), MISTRAL_LIMITS).request.messages
    const [, assistant, one, other] = messagesOf('call_abcdefghijklmnop', 'D681PevKs')
    expect(assistant?.tool_calls?.map(({ id }) => id)).to.deep.equal([one?.tool_call_id, 'D681PevKs'])
    expect(one?.tool_call_id).to.match(/^[A-Za-z0-9]{9}$/)
    expect(other?.tool_call_id).to.equal('D681PevKs')
    expect(messagesOf('x', 'call_abcdefghijklmnop')[3]?.tool_call_id).to.equal(one?.tool_call_id)
  })

  it('keeps the seed of a caller the same, within the range', () => {
    const seedOf = (seed: number) => fitRequest({ messages: [], seed }, MISTRAL_LIMITS).request.seed
    expect(seedOf(-1)).to.equal(seedOf(-1)).and.be.at.least(0)
    expect(seedOf(5)).to.equal(5)
  })

  it('reports what it changes, but not what it restores', () => {
    const { changed } = fitRequest({ ...withTools('a.b'), stop: [...'abcdef'] }, OPENAI_LIMITS)
    expect(changed.map(({ param }) => param)).to.deep.equal(['stop'])
  })
})

describe('merging the root of a schema', () => {
  const REFUSED = OPENAI_LIMITS.refusedAtRoot ?? []
  const merge = (schema: object) => mergeRoot(schema as Record<string, unknown>, REFUSED)

  it('requires what every alternative requires, and all of allOf', () => {
    const merged = merge({
      allOf: [
        { properties: { a: {} }, required: ['a'] },
        { properties: { b: {} }, required: ['b'] },
      ],
      anyOf: [
        { properties: { c: { type: 'string' } }, required: ['c', 'd'] },
        { properties: { c: { type: 'number' } }, required: ['c'] },
      ],
      not: { required: ['z'] },
    })
    expect(merged).to.deep.equal({
      type: 'object',
      properties: { a: {}, b: {}, c: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
      required: ['a', 'b', 'c'],
      description: 'Alternatives: d.',
    })
  })

  it('follows references, and ends with those that are circular', () => {
    const node = { type: 'object', properties: { value: { type: 'string' } }, required: ['value'] }
    expect(merge({ $ref: '#/$defs/Node', $defs: { Node: node } })).to.deep.include(node)
    const circular = merge({ anyOf: [{ $ref: '#' }, node], $defs: {} })
    expect(circular).to.include({ type: 'object' }).and.not.have.property('anyOf')
    expect(merge({ $ref: '#/$defs/a~1b', $defs: { 'a/b': node } })).to.deep.include(node)
  })

  it('keeps properties with the names of those that every object has', () => {
    const alternatives = ['constructor', 'toString', '__proto__'].map((name) =>
      JSON.parse(`{ "properties": { "${name}": { "type": "string" } } }`),
    )
    expect(JSON.stringify(merge({ anyOf: alternatives }).properties)).to.equal(
      '{"constructor":{"type":"string"},"toString":{"type":"string"},"__proto__":{"type":"string"}}',
    )
  })

  it('ends soon, whatever the schema is', () => {
    const names = Array.from({ length: ROUNDS.mergedSchemas }, (_, index) => `p${index}`)
    const refs = (to: (name: string) => string) => names.slice(0, 100).map((name) => ({ $ref: to(name) }))
    // 100 to the power of the depth.
    for (const $ref of ['#', '#/anyOf/0'])
      expect(merge({ properties: { a: {} }, anyOf: refs(() => $ref) })).to.deep.include({ type: 'object' })
    const $defs = Object.fromEntries(
      names.map((name) => [name, { properties: { [name]: {} }, oneOf: refs((each) => `#/$defs/${each}`) }]),
    )
    expect(merge({ allOf: refs((name) => `#/$defs/${name}`), $defs }).properties).to.have.property('p99')
    const parts = names.map((name) => ({ properties: { [name]: { const: name }, kind: { const: name } } }))
    for (const keyword of ['allOf', 'anyOf'])
      expect(Object.keys(merge({ [keyword]: parts }).properties as object)).to.have.length(names.length + 1)
  })
})
