import { Type as TypeBox } from '@sinclair/typebox'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { Nullable, StrictObject, StringEnum, Type } from '../../../../core/contract/index.ts'

type Builder = typeof Type

const SCHEMAS: Readonly<Record<string, (build: Builder) => object>> = {
  'a string': (build) => build.String(),
  'a string with options': (build) => build.String({ minLength: 1, default: 'a', description: 'A name.' }),
  'a number': (build) => build.Number({ exclusiveMinimum: 0 }),
  'an integer': (build) => build.Integer({ minimum: 1, maximum: 9 }),
  'a boolean': (build) => build.Boolean({ default: false }),
  null: (build) => build.Null({ description: 'Nothing.' }),
  'any value': (build) => build.Unknown({ description: 'Anything.' }),
  'a literal string': (build) => build.Literal('a'),
  'a literal number': (build) => build.Literal(1, { description: 'One.' }),
  'a literal boolean': (build) => build.Literal(true),
  'an array': (build) => build.Array(build.String(), { minItems: 1, maxItems: 3 }),
  'an empty object': (build) => build.Object({}),
  'an object': (build) =>
    build.Object(
      { id: build.Integer(), name: build.Optional(build.String()), tags: build.Array(build.String()) },
      { additionalProperties: false, $id: 'Thing' },
    ),
  'an object without required fields': (build) => build.Object({ name: build.Optional(build.String()) }),
  'options that the builder sets itself': (build) =>
    build.Object({ id: build.Integer() }, { type: 'array', required: ['name'], properties: {} }),
  'an optional object': (build) => build.Optional(build.Object({ id: build.Integer() })),
  'a partial object': (build) =>
    build.Partial(build.Object({ id: build.Integer(), name: build.Optional(build.String()) })),
  'a partial object with options': (build) =>
    build.Partial(build.Object({ id: build.Integer() }, { $id: 'Thing', additionalProperties: false }), {
      minProperties: 1,
    }),
  'a record': (build) => build.Record(build.String(), build.Boolean(), { minProperties: 1 }),
  'a union': (build) => build.Union([build.String({ minLength: 1 }), build.Null()], { default: null }),
  'an unsafe schema': (build) => build.Unsafe<string>({ type: 'string', format: 'date' }),
}

describe('the schema builder', () => {
  for (const [name, create] of Object.entries(SCHEMAS)) {
    it(`builds ${name} like TypeBox`, () => {
      const [own, theirs] = [create(Type), create(TypeBox)]
      expect(own).to.deep.equal(theirs)
      expect(symbolsOf(own)).to.deep.equal(symbolsOf(theirs))
      expect(JSON.stringify(own)).to.equal(JSON.stringify(theirs))
    })
  }

  it('builds objects that refuse unknown fields', () => {
    const { properties, ...rest } = StrictObject({ id: Type.Integer() }, { minProperties: 1 })
    expect(Object.keys(properties)).to.deep.equal(['id'])
    expect(rest).to.include({ type: 'object', additionalProperties: false, minProperties: 1 })
  })

  it('builds nullable schemas that accept null, enums and references included', () => {
    const ajv = new Ajv({ allowUnionTypes: true })
    const named = Type.Object({ id: Type.Integer() }, { $id: 'Named' })
    for (const [schema, valid] of [
      [Nullable(Type.Integer({ minimum: 1 })), 1],
      [Nullable(StringEnum(['a', 'b'])), 'b'],
      [Nullable(named), { id: 1 }],
    ] as const) {
      const validate = ajv.compile(schema)
      expect([valid, null, 'c'].map((value) => validate(value))).to.deep.equal([true, true, false])
    }
  })
})

/** The marks of a schema and of its fields, which `JSON.stringify` leaves out. */
function symbolsOf(schema: object): unknown {
  const marks = Object.getOwnPropertySymbols(schema).map((key) => [key, Reflect.get(schema, key)])
  const inner = Object.values(schema).filter((value) => typeof value === 'object' && value !== null)
  return [marks.sort(([a], [b]) => String(a).localeCompare(String(b))), inner.map(symbolsOf)]
}
