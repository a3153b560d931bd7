import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { ROOT } from '../support/root.ts'
import { withSettings } from '../support/settings.ts'

const OWN = `models:
  - id: own-model
    provider: openai
    aliases: [own-model-2026]
    context: 1000
    max_output: 100
    price: { input: 2, cached: 0.5, output: 10, above: { input_tokens: 200000, input: 4, output: 15 } }
    quality: 1
    latency_ms: 1
    capabilities: { tools: true, images: false, json: none }
`

describe('signalbox models check', () => {
  async function check(content: unknown, ...options: readonly string[]) {
    const file = path.join(await makeFolder(), 'prices')
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
    const result = await runCommand(['models', 'check', file, ...options], await withSettings(OWN))
    const rows = result.stdout
      .split('\n\n')[0]!
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    return { ...result, rows: rows.slice(1) }
  }

  /** An entry of LiteLLM's file for the model above. */
  const liteLlm = {
    litellm_provider: 'openai',
    mode: 'chat',
    input_cost_per_token: 2e-6,
    output_cost_per_token: 1e-5,
    cache_read_input_token_cost: 5e-7,
    input_cost_per_token_above_200k_tokens: 4e-6,
    output_cost_per_token_above_200k_tokens: 1.5e-5,
  }

  it('finds no difference between the catalogue and itself, and exits with 0', async () => {
    const shipped = await readFile(new URL('config/models.yaml', ROOT), 'utf8')
    const file = path.join(await makeFolder(), 'models.yaml')
    await writeFile(file, shipped)
    const { code, stdout } = await runCommand(['models', 'check', file])
    expect(code).to.equal(0)
    expect(stdout).to.match(/^Compared \d+ models of the catalogue with .*\. No differences\.\n$/)
    const itself = await runCommand(['models', 'check', fileURLToPath(new URL('config/models.yaml', ROOT))])
    expect(itself.code).to.equal(0)
  })

  it('shows prices that are dearer and cheaper in the file, and exits with 2', async () => {
    const price = {
      input: 2.5,
      cached: 0.25,
      output: 10,
      above: { input_tokens: 200000, input: 4, output: 15 },
    }
    const { code, rows, stderr } = await check(
      [{ provider: 'openai', id: 'own-model', price }],
      '--prices-only',
    )
    expect(code).to.equal(2)
    expect(rows).to.deep.equal([
      ['dearer', 'openai', 'own-model', 'input', '2', '2.5', '+25 %'],
      ['cheaper', 'openai', 'own-model', 'cached', '0.5', '0.25', '-50 %'],
      ['dearer', 'openai', 'own-model', 'cache_write', '2', '2.5', '+25 %'],
    ])
    expect(stderr).to.equal('3 differences found.\n')
  })

  it('reads the prices of LiteLLM, with tiers, under any name of a model', async () => {
    for (const name of ['own-model', 'openai/own-model', 'own-model-2026'])
      expect(await check({ [name]: liteLlm }, '--prices-only'), name).to.include({ code: 0 })
    const changed = {
      ...liteLlm,
      output_cost_per_reasoning_token: 1.2e-5,
      input_cost_per_token_above_200k_tokens: 5e-6,
    }
    const { rows } = await check({ 'own-model': changed, 'own-model-2026': liteLlm }, '--prices-only')
    expect(rows).to.deep.equal([
      ['dearer', 'openai', 'own-model', 'reasoning', '10', '12', '+20 %'],
      ['dearer', 'openai', 'own-model', 'above input', '4', '5', '+25 %'],
    ])
  })

  it('shows a tier that only one of both has', async () => {
    const { input_cost_per_token_above_200k_tokens: _, ...rest } = liteLlm
    const { output_cost_per_token_above_200k_tokens: __, ...flat } = rest
    const { rows } = await check({ 'own-model': flat }, '--prices-only')
    expect(rows).to.deep.equal([['differs', 'openai', 'own-model', 'above', '200000', '-']])
  })

  it('shows the models that only one of both has, of providers in the catalogue', async () => {
    const elsewhere = { ...liteLlm, litellm_provider: 'bedrock' }
    const { code, rows } = await check({
      sample_spec: liteLlm,
      'own-model': liteLlm,
      'brand-new': liteLlm,
      'not-ours': elsewhere,
      'an-embedding': { ...liteLlm, mode: 'embedding' },
    })
    expect(code).to.equal(2)
    const missingHere = rows.filter(([change]) => change === 'missing here')
    expect(missingHere).to.deep.equal([['missing here', 'openai', 'brand-new', 'input', '-', '2']])
    const missingThere = rows.filter(([change]) => change === 'missing there').map((row) => row[2])
    expect(missingThere).to.include('gpt-4o').and.not.to.include('own-model')
  })

  it('exits with 1 for a file that has no prices', async () => {
    for (const [content, reason] of [
      ['{', 'is not valid YAML'],
      ['hello', 'has no prices'],
      [{ models: [{ provider: 'openai', id: 'x', price: { input: 'free', output: 1 } }] }, 'row 1 needs'],
      [[{ provider: 'nobody', id: 'x', price: { input: 1, output: 1 } }], 'has none of the models'],
    ] as const) {
      const { code, stderr } = await check(content)
      expect([code, stderr.includes(reason)], stderr).to.deep.equal([1, true])
    }
    const { code, stderr } = await runCommand(['models', 'check', '/no/such/file'])
    expect(code).to.equal(1)
    expect(stderr).to.contain('/no/such/file cannot be read')
  })
})
