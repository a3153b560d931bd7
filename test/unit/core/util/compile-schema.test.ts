import { writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import type { ValidateFunction } from 'ajv'
import { expect } from 'chai'
import { Type } from '../../../../core/contract/index.ts'
import { collectSchemas, compileSchema, generateValidators } from '../../../../core/util/compile-schema.ts'
import { describeSchemaErrors } from '../../../../core/util/json-schema.ts'
import { makeFolder } from '../../../support/folders.ts'

describe('a generated validator', () => {
  before(collectSchemas)

  // Of this test only, so that no build has generated it.
  const schema = Type.Object(
    { name: Type.String({ minLength: 2 }), ports: Type.Array(Type.Integer({ minimum: 1, maximum: 9 })) },
    { additionalProperties: false, description: 'The schema of this test.' },
  )

  for (const mode of ['first-error', 'all-errors'] as const) {
    it(`finds the errors that the compiled one finds: ${mode}`, async () => {
      const compiled = compileSchema(schema, mode)
      const generated = await loadGenerated('The schema of this test.', mode)
      const values = [
        { name: 'ab', ports: [1, 9] },
        { name: 'é', ports: [1.5, 10, '3'] },
        { ports: {}, more: 1 },
        [],
        null,
      ]
      const described = values.map((value) => {
        const expected = compiled(value)
        expect(generated(value)).to.equal(expected)
        expect(JSON.stringify(generated.errors)).to.equal(JSON.stringify(compiled.errors))
        return describeSchemaErrors(generated.errors)
      })
      expect(described[0]).to.be.empty
      expect(described[1]).to.include('name must have at least 2 characters')
      expect(described.slice(1).every((errors) => errors.length > 0)).to.be.true
    })
  }
})

/** Loads the only generated file of the mode that contains the text, as the gateway loads it. */
async function loadGenerated(text: string, mode: string): Promise<ValidateFunction> {
  const files = await generateValidators()
  const found = [...files.values()].filter((code) => code.includes(text))
  const code = found[mode === 'first-error' ? 0 : 1] ?? ''
  const file = path.join(await makeFolder(), 'validator.cjs')
  // The code needs a module of ajv, which is not found from the temporary folder.
  const runtime = createRequire(import.meta.url).resolve('ajv/dist/runtime/ucs2length')
  await writeFile(file, code.replace('ajv/dist/runtime/ucs2length', runtime))
  return createRequire(import.meta.url)(file)
}
