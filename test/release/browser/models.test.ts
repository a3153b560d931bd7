import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { checkScreensOf } from '../../support/browser.ts'
import { useConsole } from '../../support/console-suite.ts'
import { makeFolder } from '../../support/folders.ts'
import { startGateway } from '../../support/gateway.ts'
import { newUser } from '../../support/new-user.ts'
import { newOperator } from '../../support/operators.ts'
import { withSettings } from '../../support/settings.ts'

const OWN = `
models:
  - id: gpt-4o
    provider: openai
    context: 128000
    max_output: 16384
    price:
      input: 5
      cached: 1.25
      cache_write: 5
      output: 10
      above: { input_tokens: 100000, input: 8, output: 12 }
    quality: 70
    latency_ms: 1500
    region: eu
    capabilities: { tools: true, images: true, json: schema }
`

describe('the page of models in a browser', () => {
  let list: string
  const suite = useConsole(async () => {
    list = path.join(await makeFolder(), 'list.json')
    return startGateway(await withSettings(`${OWN}price_list: ${list}\n`))
  })

  it('shows prices, what a model takes, and its requests', async () => {
    const { gateway, window } = suite
    const { page } = window
    const user = await newUser(gateway)
    const messages = [{ role: 'user', content: 'Hello' }]
    await user.call('POST', '/v1/chat/completions', { model: 'openai/gpt-4o', messages })
    await page.getByRole('link', { name: 'Models', exact: true }).click()
    const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'gpt-4o', exact: true }) })
    await row.getByText('own price').waitFor()
    expect(await row.getByRole('cell').allInnerTexts()).to.include.members([
      '$5.00',
      '$1.25',
      '$10.00',
      '128K',
    ])
    await window.open('/models?q=gpt-4')
    await row.waitFor()
    await checkScreensOf(window, 'models')
    await row.getByRole('link', { name: '1', exact: true }).click()
    await page.getByRole('heading', { name: 'Requests' }).waitFor()
    expect(page.url()).to.include('model=gpt-4o').and.include('provider=openai')
    await page.getByRole('row').nth(1).waitFor()
    expect(await page.getByRole('row').count()).to.equal(2)
  })

  it('finds models by name, provider and own prices, in the address', async () => {
    const { window } = suite
    const { page } = window
    const rows = page.locator('.table').first().locator('tbody tr')
    await window.open('/models?provider=anthropic')
    await rows.first().waitFor()
    for (const text of await rows.allInnerTexts()) expect(text).to.include('anthropic')
    await window.open('/models?prices=own')
    await rows.first().waitFor()
    expect(await rows.count()).to.equal(1)
    await page.getByLabel('Model').fill('no such model')
    await page.keyboard.press('Enter')
    await page.getByText('No model matches. Choose fewer filters.').waitFor()
    expect(page.url()).to.include('q=no+such+model')
  })

  it('compares prices with the list when asked to, here and on the page of a model', async () => {
    const { window } = suite
    const { page } = window
    await window.open('/models?prices=differ')
    await page.getByText('Compare the prices first').waitFor()
    const compare = page.getByRole('button', { name: 'Compare with list.json' })
    await compare.click()
    await page.getByText('Check price_list in the settings.').waitFor()
    const price = {
      input: 6,
      cached: 1.25,
      cache_write: 5,
      output: 10,
      above: { input_tokens: 100_000, input: 8, output: 12 },
    }
    await writeFile(list, JSON.stringify([{ provider: 'openai', id: 'gpt-4o', price }]))
    await page.getByRole('button', { name: 'Try again' }).click()
    const compared = page.getByRole('region', { name: 'Compared prices' })
    await compared.getByText('dearer +20 %').waitFor()
    await page.getByText('list: $6.00').waitFor()
    await checkScreensOf(window, 'models-compared')
    await compared.getByRole('link', { name: 'gpt-4o' }).click()
    await page.getByRole('heading', { name: 'gpt-4o' }).waitFor()
    const prices = page.getByRole('region', { name: 'Prices' }).getByRole('row')
    expect(await prices.nth(1).getByRole('cell').allInnerTexts()).to.deep.equal([
      ...['input', '$5.00', '$2.50', '$6.00'],
    ])
    const long = prices.filter({ hasText: 'above input' }).getByRole('cell')
    expect(await long.allInnerTexts()).to.deep.equal(['above input', '$8.00', '–', 'the same'])
    await page.getByRole('region', { name: 'Where data goes' }).getByText('eu', { exact: true }).waitFor()
    await checkScreensOf(window, 'model')
  })

  it('is for operators, and auditors compare nothing', async () => {
    const { gateway, window } = suite
    const { page } = window
    await window.signIn((await newOperator(gateway, 'auditor', 'Otto')).key)
    await window.open('/models')
    await page.getByRole('table').first().waitFor()
    expect(await page.getByRole('button', { name: 'Compare with list.json' }).count()).to.equal(0)
    await window.open('/models/openai/unknown')
    await page.getByText('The catalogue has no model openai/unknown.').waitFor()
    await window.signIn((await newUser(gateway)).key)
    expect(await page.getByRole('link', { name: 'Models', exact: true }).count()).to.equal(0)
  })
})
