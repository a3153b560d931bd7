import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect } from 'chai'
import { captureOutput } from '../support/captured-output.ts'
import { makeFolder } from '../support/folders.ts'
import { createClient, TEST_ENVIRONMENT } from '../support/gateway.ts'
import { startGatewayProcess } from '../support/gateway-process.ts'
import { PROGRAM } from '../support/root.ts'
import { sample } from '../support/rounds.ts'
import { skip } from '../support/skip.ts'

/** A gateway at a terminal, which `script` of util-linux makes. */
async function startAtTerminal(environment: Readonly<Record<string, string>>) {
  const { PATH, HOME } = process.env
  const command = `exec ${process.execPath} ${PROGRAM} start`
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH, HOME, SHELL: '/bin/sh', ...TEST_ENVIRONMENT, ADMIN_KEY: '', ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const output = captureOutput()
  child.stdout.setEncoding('utf8').on('data', output.write)
  const exited = once(child, 'exit')
  void exited.then(output.end)
  await output.contains('"ready":true')
  const url = /"base_url":"([^"]+)"/.exec(output.text())?.[1] ?? ''
  return {
    ...createClient(url, ''),
    output: output.text(),
    /** Presses Ctrl-C. */
    async stop() {
      child.stdin.write('\x03')
      await exited
    },
  }
}

const operatorKeyIn = (output: string) => /ADMIN_KEY=(op_[0-9A-Za-z]{43})/.exec(output)?.[1]

describe('the first operator of an empty sandbox', () => {
  before(async function () {
    if (process.platform !== 'linux') skip(this, 'there is no "script" of util-linux')
  })

  for (const WORKERS of sample(['1', '2'], 1))
    it(`is shown at a terminal, once, and serves at once, with WORKERS=${WORKERS}`, async () => {
      const DATA_DIR = await makeFolder()
      const first = await startAtTerminal({ DATA_DIR, WORKERS })
      const key = operatorKeyIn(first.output)
      expect(key, first.output).to.be.a('string')
      for (let n = 0; n < 4; n++) {
        const { status, body } = await first.call('GET', '/admin/operators', undefined, {
          authorization: `Bearer ${key}`,
          connection: 'close',
        })
        expect(status, JSON.stringify(body)).to.equal(200)
        expect(body.data).to.have.length(1)
        expect(body.data[0]).to.include({ name: 'demo', role: 'admin' })
        const { paths } = (await first.call('GET', '/openapi.json')).body
        expect(paths).to.include.keys('/admin/operators')
      }
      await first.stop()

      const second = await startAtTerminal({ DATA_DIR, WORKERS })
      expect(operatorKeyIn(second.output)).to.equal(undefined)
      await second.stop()
    })

  it('does not exist if stderr is no terminal, or there is an ADMIN_KEY', async () => {
    const logged = await startGatewayProcess({ ADMIN_KEY: '' })
    expect(logged.stderr()).to.contain('There is no operator').and.to.contain('ADMIN_KEY')
    expect(logged.stderr()).not.to.contain('op_')
    expect((await logged.call('GET', '/admin/operators')).status).to.equal(404)
    await logged.stop()

    const withKey = await startAtTerminal({
      DATA_DIR: await makeFolder(),
      ADMIN_KEY: TEST_ENVIRONMENT.ADMIN_KEY,
    })
    expect(withKey.output).to.contain('SIGNALBOX_KEY=').and.not.to.contain('op_')
    await withKey.stop()
  })
})
