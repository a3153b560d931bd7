import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { GatewayError, type JsonObject, StrictObject, Type } from '../../../../core/contract/index.ts'
import {
  compileUntrustedValidator,
  compileValidator,
  createLazyParser,
  createLazyTypeGuard,
  describeSchemaErrors,
} from '../../../../core/util/json-schema.ts'
import { ROOT } from '../../../support/root.ts'

/** The constraint under test applies to the field `port` of the value. */
const field = (schema: unknown): JsonObject => ({ type: 'object', properties: { port: schema } })

const SEED_NEEDS_PORT: JsonObject = {
  type: 'object',
  if: { required: ['seed'] },
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: { required: ['port'] },
}

type Case = readonly [keyword: string, schema: JsonObject, value: unknown, message: string]

const CASES: readonly Case[] = [
  ['type', field({ type: 'integer' }), { port: 'x' }, 'port must be an integer'],
  ['type', field({ type: ['string', 'null'] }), { port: 1 }, 'port must be a string or null'],
  ['type', field({ type: 'boolean' }), { port: 1 }, 'port must be true or false'],
  ['type', { type: 'object' }, [], 'the value must be an object'],
  ['enum', field({ enum: ['a', 'b', null] }), { port: 'c' }, 'port must be one of a, b, null'],
  ['const', field({ const: 'a' }), { port: 'b' }, 'port must be "a"'],
  ['minimum', field({ type: 'number', minimum: 1 }), { port: 0 }, 'port must be at least 1'],
  [
    'minimum',
    field({ type: 'number', minimum: 0, maximum: 65535 }),
    { port: -1 },
    'port must be between 0 and 65535',
  ],
  ['maximum', field({ type: 'number', maximum: 9 }), { port: 10 }, 'port must be at most 9'],
  [
    'maximum',
    field({ type: 'number', minimum: 0, maximum: 65535 }),
    { port: 70_000 },
    'port must be between 0 and 65535',
  ],
  [
    'exclusiveMinimum',
    field({ type: 'number', exclusiveMinimum: 0 }),
    { port: 0 },
    'port must be greater than 0',
  ],
  [
    'exclusiveMinimum',
    field({ type: 'number', exclusiveMinimum: 0, maximum: 9 }),
    { port: 0 },
    'port must be greater than 0 and at most 9',
  ],
  [
    'exclusiveMaximum',
    field({ type: 'number', exclusiveMaximum: 9 }),
    { port: 9 },
    'port must be less than 9',
  ],
  ['multipleOf', field({ type: 'number', multipleOf: 5 }), { port: 7 }, 'port must be a multiple of 5'],
  [
    'minLength',
    field({ type: 'string', minLength: 16 }),
    { port: 'x' },
    'port must have at least 16 characters',
  ],
  ['minLength', field({ type: 'string', minLength: 1 }), { port: '' }, 'port must not be empty'],
  [
    'maxLength',
    field({ type: 'string', maxLength: 1 }),
    { port: 'xy' },
    'port must have at most 1 character',
  ],
  ['minItems', field({ type: 'array', minItems: 2 }), { port: [1] }, 'port must have at least 2 items'],
  ['minItems', field({ type: 'array', minItems: 1 }), { port: [] }, 'port must not be empty'],
  ['maxItems', field({ type: 'array', maxItems: 2 }), { port: [1, 2, 3] }, 'port must have at most 2 items'],
  [
    'additionalItems',
    field({ type: 'array', items: [{}], minItems: 1, additionalItems: false }),
    { port: [1, 2] },
    'port must have at most 1 item',
  ],
  ['minProperties', field({ type: 'object', minProperties: 1 }), { port: {} }, 'port must not be empty'],
  [
    'maxProperties',
    field({ type: 'object', maxProperties: 1 }),
    { port: { a: 1, b: 2 } },
    'port must have at most 1 field',
  ],
  [
    'uniqueItems',
    field({ type: 'array', uniqueItems: true }),
    { port: [1, 2, 1] },
    'port must not contain duplicates: items 0 and 2 are equal',
  ],
  [
    'contains',
    field({ type: 'array', contains: { const: 1 } }),
    { port: [2] },
    'port must contain at least 1 item of the required form',
  ],
  ['pattern', field({ type: 'string', pattern: '^a' }), { port: 'b' }, 'port must match the pattern ^a'],
  ['required', { type: 'object', required: ['port'] }, {}, 'port is required'],
  [
    'required',
    field({ type: 'array', items: { type: 'object', required: ['name'] } }),
    { port: [{ name: 1 }, {}] },
    'port[1].name is required',
  ],
  [
    'dependencies',
    { type: 'object', dependencies: { seed: ['port'] } },
    { seed: 1 },
    'port is required with seed',
  ],
  [
    'additionalProperties',
    { type: 'object', additionalProperties: false },
    { prot: 1 },
    'unknown field "prot"',
  ],
  [
    'additionalProperties',
    field({ type: 'object', additionalProperties: false }),
    { port: { x: 1 } },
    'port has the unknown field "x"',
  ],
  [
    'propertyNames',
    field({ type: 'object', propertyNames: { pattern: '^[a-z]+$' } }),
    { port: { A: 1 } },
    'the field name "A" in port must match the pattern ^[a-z]+$',
  ],
  ['not', field({ not: { const: 1 } }), { port: 1 }, 'port has a value that is not allowed'],
  ['if', SEED_NEEDS_PORT, { seed: 1 }, 'port is required'],
  ['false schema', field(false), { port: 1 }, 'port is not allowed'],
  [
    'anyOf',
    field({ anyOf: [{ type: 'string' }, { type: 'array' }] }),
    { port: 1 },
    'port must be a string or an array',
  ],
  [
    'anyOf',
    field({ anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'integer' } }] }),
    { port: [1, 'x'] },
    'port[1] must be an integer',
  ],
  [
    'anyOf',
    field({
      anyOf: [{ type: 'string' }, { anyOf: [{ type: 'null' }, { type: 'object', required: ['a'] }] }],
    }),
    { port: {} },
    'port.a is required',
  ],
  [
    'anyOf',
    field({ type: 'object', anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
    { port: {} },
    'port has none of the allowed forms',
  ],
  [
    'oneOf',
    field({ oneOf: [{ type: 'string' }, { type: 'null' }] }),
    { port: 1 },
    'port must be a string or null',
  ],
  [
    'oneOf',
    field({ oneOf: [{ type: 'integer' }, { type: 'number' }, { type: 'string' }] }),
    { port: 3 },
    'port matches more than one of the allowed forms',
  ],
]

describe('describeSchemaErrors', () => {
  for (const [keyword, schema, value, message] of CASES) {
    it(`describes ${keyword}: ${message}`, () => {
      const validate = compileValidator(schema)
      expect(validate(value)).to.equal(false)
      expect(validate.errors?.map((error) => error.keyword)).to.include(keyword)
      expect(describeSchemaErrors(validate.errors)).to.deep.equal([message])
    })
  }

  it('describes formats', () => {
    const error = {
      ...errorOf({ type: 'number', minimum: 1 }, 0),
      keyword: 'format',
      params: { format: 'date-time' },
    }
    expect(describeSchemaErrors([error])).to.deep.equal(['port must be a valid date-time'])
  })

  it('describes every error, in order', () => {
    const validate = compileValidator({
      type: 'object',
      required: ['name'],
      properties: {
        port: { type: 'number', minimum: 0 },
        host: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      },
    })
    validate({ port: -1, host: 1 })
    expect(describeSchemaErrors(validate.errors)).to.have.members([
      'name is required',
      'port must be at least 0',
      'host must be a string or null',
    ])
  })

  it('describes unions of several items separately', () => {
    const item = { anyOf: [{ type: 'string' }, { type: 'object', required: ['use'] }] }
    const validate = compileValidator(field({ type: 'array', items: item }))
    validate({ port: ['a', 1, {}] })
    expect(describeSchemaErrors(validate.errors)).to.deep.equal([
      'port[1] must be a string or an object',
      'port[2].use is required',
    ])
  })

  it('returns an empty list for a valid value', () => {
    expect(describeSchemaErrors(null)).to.deep.equal([])
  })

  it("never uses ajv's own wording", () => {
    for (const [, schema, value] of CASES) {
      const validate = compileValidator(schema)
      validate(value)
      for (const issue of validate.errors?.flatMap((error) => describeSchemaErrors([error])) ?? []) {
        expect(issue).not.to.match(/NOT |must be equal|schema|keyword|[<>]=|is not valid/)
      }
    }
  })

  it('has a wording for every keyword that ajv reports', () => {
    const described = new Set([...CASES.map(([keyword]) => keyword), 'format'])
    expect(reportedKeywords().filter((keyword) => !described.has(keyword))).to.deep.equal([])
  })
})

describe('the schemas of the project', () => {
  it('use only keywords that have a wording', () => {
    const used = listUsedKeywords()
    const described = new Set([...CASES.map(([keyword]) => keyword), 'format', ...SILENT])
    expect(used).to.include.members(['minItems', 'exclusiveMinimum', 'propertyNames', 'maxItems', 'pattern'])
    expect(used.filter((keyword) => !described.has(keyword))).to.deep.equal([])
  })
})

describe('parsers of request bodies', () => {
  const parse = createLazyParser(
    StrictObject({
      name: Type.String({ maxLength: 5 }),
      list: Type.Optional(Type.Array(Type.String())),
    }),
  )

  function issueOf(value: unknown): readonly [code: string, param: string | undefined, message: string] {
    try {
      parse(value)
    } catch (error) {
      if (GatewayError.isInstance(error)) return [error.code, error.details.param, error.message]
    }
    return expect.fail('the value was accepted')
  }

  it('return the value if it is valid', () => {
    const value = { name: 'a' }
    expect(parse(value)).to.equal(value)
  })

  it('name a missing field', () => {
    expect(issueOf({})).to.deep.equal(['missing_parameter', 'name', 'name is required.'])
  })

  it('name an invalid field and its constraint', () => {
    const message = 'name must have at most 5 characters.'
    expect(issueOf({ name: 'abcdef' })).to.deep.equal(['invalid_value', 'name', message])
    const nested = issueOf({ name: 'a', list: ['a', 1] })
    expect(nested).to.deep.equal(['invalid_value', 'list[1]', 'list[1] must be a string.'])
  })

  it('start messages about the whole body with a capital letter', () => {
    expect(issueOf([])).to.deep.equal(['invalid_value', undefined, 'The body must be an object.'])
    expect(issueOf({ name: 'a', x: 1 })).to.deep.equal(['invalid_value', undefined, 'Unknown field "x".'])
  })
})

describe('compiled schemas', () => {
  it('of plugin packages are checked first', () => {
    expect(() => compileUntrustedValidator({ type: 'objekt' })).to.throw('schema is invalid')
    expect(compileUntrustedValidator({ type: 'object' })({})).to.equal(true)
  })

  it('can guard a type', () => {
    const isText = createLazyTypeGuard<string>({ type: 'string' })
    expect(isText('a')).to.equal(true)
    expect(isText(1)).to.equal(false)
  })
})

function errorOf(schema: JsonObject, value: unknown) {
  const validate = compileValidator(field(schema))
  validate({ port: value })
  const [error] = validate.errors ?? []
  return error ?? expect.fail('the value was accepted')
}

/** Keywords of ajv that have an error of their own. `nullable` only extends `type`. */
function reportedKeywords(): string[] {
  const rules = Object.entries(new Ajv().RULES.all).filter(
    ([, rule]) => typeof rule === 'object' && rule.definition.error !== undefined,
  )
  return ['type', ...rules.map(([keyword]) => keyword)]
}

/** Keywords that report no errors, or only those of their subschemas. */
const SILENT = [
  ...['items', 'properties', 'patternProperties', 'allOf', 'then', 'else', '$ref', 'definitions'],
  // Becomes conditions before validation.
  'discriminator',
]

/** Validation keywords of JSON Schema from draft 7 to 2020-12. */
const KEYWORDS = new Set([
  ...SILENT,
  ...Object.keys(new Ajv().RULES.keywords),
  ...['$dynamicRef', '$recursiveRef', '$defs', 'prefixItems', 'dependentRequired', 'dependentSchemas'],
  ...['minContains', 'maxContains', 'unevaluatedProperties', 'unevaluatedItems'],
])

/** Keywords without an effect on validation. */
const ANNOTATIONS = new Set([
  ...['title', 'description', 'default', 'examples', 'nullable', 'deprecated', 'contentMediaType'],
  ...['id', '$id', '$comment', '$schema', '$defs'],
])

/** Keywords of the settings schema and of the sources, where all other schemas are object literals. */
function listUsedKeywords(): string[] {
  const folders = ['core', 'plugins', 'projections', 'providers', 'config']
  const files = folders.flatMap((folder) =>
    readdirSync(new URL(folder, ROOT), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') || name === 'schema.json')
      .map((name) => fileURLToPath(new URL(`${folder}/${name}`, ROOT))),
  )
  const keys = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(/(?<=^|[{,\s])(['"]?)([$a-zA-Z]+)\1:/gm)].map(
      ([, , key = '']) => key,
    ),
  )
  return [...new Set(keys)].filter((key) => KEYWORDS.has(key) && !ANNOTATIONS.has(key))
}
