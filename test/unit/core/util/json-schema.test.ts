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
import { readVectors } from '../../../support/vectors.ts'

/** The constraint under test applies to the field `port` of the value. */
const field = (schema: unknown): JsonObject => ({ type: 'object', properties: { port: schema } })

interface SchemaErrorCase {
  readonly keyword: string
  readonly schema: JsonObject
  readonly value: unknown
  readonly message: string
}

const CASES = readVectors<readonly SchemaErrorCase[]>('schema-errors')

describe('describeSchemaErrors', () => {
  for (const { keyword, schema, value, message } of CASES) {
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
    for (const { schema, value } of CASES) {
      const validate = compileValidator(schema)
      validate(value)
      for (const issue of validate.errors?.flatMap((error) => describeSchemaErrors([error])) ?? []) {
        expect(issue).not.to.match(/NOT |must be equal|schema|keyword|[<>]=|is not valid/)
      }
    }
  })

  it('has a wording for every keyword that ajv reports', () => {
    const described = new Set([...CASES.map(({ keyword }) => keyword), 'format'])
    expect(reportedKeywords().filter((keyword) => !described.has(keyword))).to.deep.equal([])
  })
})

describe('the schemas of the project', () => {
  it('use only keywords that have a wording', () => {
    const used = listUsedKeywords()
    const described = new Set([...CASES.map(({ keyword }) => keyword), 'format', ...SILENT])
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
