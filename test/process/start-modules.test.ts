import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { ROOT } from '../support/root.ts'

const NODE_OPTIONS = `--import=${new URL('test/fixtures/refuse-typebox.mjs', ROOT)}`

describe('the modules of the started program', () => {
  it('do not include TypeBox, whose import takes longer than many a start', async () => {
    const gateway = await startGatewayProcess({ NODE_OPTIONS })
    const openApi = await gateway.call('GET', '/openapi.json')
    expect(openApi.status).to.equal(200)
    expect(await gateway.stop()).to.equal(0)
  })

  it('are watched: a program that imports TypeBox fails', async () => {
    const script = ['--input-type=module', '--eval', "await import('@sinclair/typebox')"]
    const run = promisify(execFile)(process.execPath, script, { env: { ...process.env, NODE_OPTIONS } })
    const error = await run.then(
      () => undefined,
      (error) => error,
    )
    expect(error?.stderr).to.contain('TypeBox must not be loaded')
  })
})
