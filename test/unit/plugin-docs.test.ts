import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { CONTRACT_VERSION } from '../../core/contract/plugin.ts'
import { guardrailOptions } from '../../plugins/guardrail-webhook/options.ts'
import { listFields } from '../support/reference-tables.ts'
import { ROOT } from '../support/root.ts'
import { readSource } from '../support/source-files.ts'

/** The interfaces that docs/plugins.md describes, by file of the contract, and the heading of each. */
const DOCUMENTED = {
  'plugin.ts': {
    Plugin: 'The plugin',
    PluginParts: 'The plugin',
    Host: 'The plugin',
    EventDeclaration: 'Events',
  },
  'shared-state.ts': { Counters: 'Shared state', CounterValue: 'Shared state', RecordStore: 'Shared state' },
  'chat.ts': { ReplyTransform: 'Phases' },
  'reply-text.ts': { TextReplacement: 'Phases' },
  'provider.ts': { ProviderAdapter: 'Providers', ProviderRequest: 'Providers', StreamReader: 'Providers' },
  'error-codes.ts': { ErrorDefinition: 'Endpoints' },
} as const

const page = readFileSync(new URL('docs/plugins.md', ROOT), 'utf8')

describe('docs/plugins.md', () => {
  for (const [file, interfaces] of Object.entries(DOCUMENTED)) {
    const source = readFileSync(new URL(`core/contract/${file}`, ROOT), 'utf8')
    for (const [name, heading] of Object.entries(interfaces)) {
      it(`names every field of ${name}`, () => {
        const fields = fieldsOf(source, name)
        expect(fields).not.to.deep.equal([])
        const section = page.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
        const code = [...section.matchAll(/`+[^`]+`+/g)].join(' ')
        expect(fields.filter((field) => !new RegExp(`\\b${field}\\b`).test(code))).to.deep.equal([])
      })
    }
  }
})

describe('docs/plugins.md', () => {
  it('has the current version of the contract throughout', () => {
    expect(page).to.contain(`It is currently ${CONTRACT_VERSION}, `)
    const versions = [...page.matchAll(/^ *contract: (\d+),$|, contract: (\d+),/gm)].map(([, a, b]) => a ?? b)
    expect(new Set(versions)).to.deep.equal(new Set([`${CONTRACT_VERSION}`]))
  })

  it('has the type of every field of Host', () => {
    const rows = new Set(page.split('\n').map((line) => /^\| `\w+` \| `(?:[^`\\]|\\.)*` \|/.exec(line)?.[0]))
    const source = readFileSync(new URL('core/contract/plugin.ts', ROOT), 'utf8')
    const [, body = ''] = /^export interface Host\b.*?\{\n(.*?)^}/ms.exec(source) ?? []
    const fields = listFields(body)
    expect(fields.map(([field]) => field)).to.deep.equal(fieldsOf(source, 'Host'))
    const expected = fields.map(([field, type]) => `| \`${field}\` | \`${type.replaceAll('|', '\\|')}\` |`)
    expect(expected.filter((row) => !rows.has(row))).to.deep.equal([])
  })
})

describe('docs/plugins.md', () => {
  it('shows the source of an example package', () => {
    expect(page).to.contain(`\`\`\`js\n${readExample('signalbox-budget')}\`\`\``)
  })

  for (const name of ['signalbox-budget', 'signalbox-exact-cache', 'signalbox-redactor']) {
    it(`names ${name}, which has less than 80 lines`, () => {
      expect(page).to.contain(`\`${name}\``)
      expect(readExample(name).split('\n').length).to.be.below(81)
    })
  }
})

const readExample = (name: string) => readSource(`test/fixtures/packages/${name}/index.js`)

/** The fields of an interface; its members are indented by two spaces. */
function fieldsOf(source: string, name: string): readonly string[] {
  const body = new RegExp(`^export interface ${name}\\b.*?^}`, 'ms').exec(source)?.[0] ?? ''
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??[(:]/gm)].map(([, field = '']) => field)
}

describe('docs/guides/guardrail-webhook.md', () => {
  const page = readSource('docs/guides/guardrail-webhook.md')

  it('shows the example server that is tested', () => {
    expect(page).to.contain(readSource('test/fixtures/guardrail-server.mjs').trim())
  })

  it('lists every option', () => {
    for (const name of Object.keys(guardrailOptions.properties)) expect(page).to.contain(`\`${name}\``)
  })
})
