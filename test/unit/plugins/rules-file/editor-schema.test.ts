import { readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { expect } from 'chai'
import { buildCasesEditorSchema, buildEditorSchema } from '../../../../plugins/rules-file/editor-schema.ts'
import { ROOT } from '../../../support/root.ts'
import { parseYaml } from '../../../support/yaml.ts'

describe('the editor schemas of rules as a file', () => {
  const read = (file: string) => readFileSync(new URL(file, ROOT), 'utf8')
  const examples = new Map(
    [
      ...`${read('docs/guides/gitops.md')}${read('docs/guides/rule-tests.md')}`.matchAll(
        /```yaml\n# (\S+)\n([\s\S]*?)```/g,
      ),
    ].map(([, name, text = '']) => [name, parseYaml(text)]),
  )
  const compile = (schema: object) => new Ajv({ strict: false, validateFormats: false }).compile(schema)

  it('are up to date (run "npm run generate" after a change of a schema)', () => {
    expect(JSON.parse(read('config/rules-file.schema.json'))).to.deep.equal(
      JSON.parse(JSON.stringify(buildEditorSchema())),
    )
    expect(JSON.parse(read('config/rules-cases.schema.json'))).to.deep.equal(
      JSON.parse(JSON.stringify(buildCasesEditorSchema())),
    )
  })

  it('accept the examples of the documentation', () => {
    const validateCases = compile(buildCasesEditorSchema())
    expect(validateCases(examples.get('cases.yaml')), JSON.stringify(validateCases.errors)).to.equal(true)
    const validate = compile(buildEditorSchema())
    expect(validate(examples.get('rules.yaml')), JSON.stringify(validate.errors)).to.equal(true)
  })

  it('find a misspelt field of a rule, a condition that does not exist, and a rule without a name', () => {
    const validate = compile(buildEditorSchema())
    const [policy] = examples.get('rules.yaml').policies
    const [rule] = policy.firewall_rules
    const { name: _, ...nameless } = rule
    const routing = {
      name: 'R',
      is_enabled: true,
      priority: 0,
      match_json: { contians: 'x' },
      action_json: {},
    }
    for (const rules of [
      { firewall_rules: [{ ...rule, patern: 'x' }] },
      { firewall_rules: [nameless] },
      { routing_rules: [routing] },
    ])
      expect(validate({ policies: [{ ...policy, ...rules }] }), JSON.stringify(rules)).to.equal(false)
  })
})
