import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import { CONTRACT_VERSION } from '../../core/contract/plugin.ts'
import { guardrailOptions } from '../../plugins/guardrail-webhook/options.ts'
import { ROOT } from '../support/root.ts'
import { readSource } from '../support/source-files.ts'

const page = readFileSync(new URL('docs/plugins.md', ROOT), 'utf8')

describe('docs/plugins.md', () => {
  it('has the current version of the contract throughout', () => {
    expect(page).to.contain(`It is currently ${CONTRACT_VERSION}, `)
    const versions = [...page.matchAll(/^ *contract: (\d+),$|, contract: (\d+),/gm)].map(([, a, b]) => a ?? b)
    expect(new Set(versions)).to.deep.equal(new Set([`${CONTRACT_VERSION}`]))
  })

  for (const name of ['signalbox-budget', 'signalbox-exact-cache', 'signalbox-redactor']) {
    it(`names ${name}, which has less than 80 lines`, () => {
      expect(page).to.contain(`\`${name}\``)
      expect(readExample(name).split('\n').length).to.be.below(81)
    })
  }
})

const readExample = (name: string) => readSource(`test/fixtures/packages/${name}/index.js`)

describe('docs/guides/guardrail-webhook.md', () => {
  const page = readSource('docs/guides/guardrail-webhook.md')

  it('shows the example server that is tested', () => {
    expect(page).to.contain(readSource('test/fixtures/guardrail-server.mjs').trim())
  })

  it('lists every option', () => {
    for (const name of Object.keys(guardrailOptions.properties)) expect(page).to.contain(`\`${name}\``)
  })
})
