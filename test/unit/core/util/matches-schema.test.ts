import { expect } from 'chai'
import { matchesSchema } from '../../../../core/util/matches-schema.ts'

describe('matchesSchema', () => {
  const person = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: ['integer', 'null'] } },
    required: ['name'],
    additionalProperties: false,
  }
  const tree = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: {
          value: { type: 'number' },
          next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
        },
        required: ['value', 'next'],
      },
    },
  }
  for (const [value, schema, expected] of [
    [{ name: 'Ada', age: null }, person, true],
    [{ name: 'Ada', age: 1.5 }, person, false],
    [{ age: 7 }, person, false],
    [{ name: 'Ada', more: 1 }, person, false],
    [JSON.parse('{"name":"Ada","__proto__":1}'), person, false],
    [[], person, false],
    [['a', 1], { type: 'array', items: { type: 'string' } }, false],
    [['a', 'b'], { type: 'array', items: { type: 'string' } }, true],
    ['red', { enum: ['red', 'green'] }, true],
    ['blue', { enum: ['red', 'green'] }, false],
    [{ a: 1 }, { const: { a: 1 } }, true],
    [2, { const: 1 }, false],
    [1, { oneOf: [{ type: 'string' }, { type: 'number' }] }, true],
    [true, { anyOf: [{ type: 'string' }, { type: 'number' }] }, false],
    [{ a: 1 }, { allOf: [{ required: ['a'] }, { required: ['b'] }] }, false],
    [{ value: 1, next: { value: 2, next: null } }, tree, true],
    [{ value: 1, next: { value: 'x', next: null } }, tree, false],
    ['anything', undefined, true],
    ['anything', { $ref: 'https://example.com/schema' }, true],
    ['anything', { $ref: '#/missing' }, true],
    ['anything', { pattern: '^(a+)+$' }, true],
    [1, false, false],
  ] as const) {
    it(`is ${expected} for ${JSON.stringify(value)} and ${JSON.stringify(schema)?.slice(0, 60)}`, () => {
      expect(matchesSchema(value, schema)).to.equal(expected)
    })
  }

  it('ends with a schema that refers to itself', () => {
    expect(matchesSchema(1, { $ref: '#' })).to.equal(true)
    const wide = { anyOf: [{ $ref: '#' }, { $ref: '#' }] }
    expect(matchesSchema(1, wide)).to.equal(true)
  })
})
