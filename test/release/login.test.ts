import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { approveDevice } from '../support/device-sign-in.ts'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY } from '../support/gateway.ts'
import { runSignalbox, spawnSignalbox, startGatewayProcess } from '../support/gateway-process.ts'

describe('signalbox login, as a program', () => {
  it('waits until the code is approved, and signs in other commands, at a gateway of two workers', async () => {
    const gateway = await startGatewayProcess({ WORKERS: '2' })
    const environment = { XDG_CONFIG_HOME: await makeFolder(), SIGNALBOX_URL: gateway.url }
    const child = spawnSignalbox(['login'], environment)
    const exited = once(child, 'close')
    const lines: string[] = []
    for await (const line of createInterface(child.stdout)) {
      lines.push(line)
      const code = /code (\w{4}-\w{4})$/.exec(line)?.[1]
      if (code !== undefined) await approveDevice(gateway, code, { key: ADMIN_KEY })
    }
    expect(await exited).to.deep.equal([0, null])
    expect(JSON.parse(lines.at(-1) ?? '')).to.include({ url: gateway.url, name: 'root', role: 'admin' })
    const { code, stdout, stderr } = await runSignalbox(['rules', 'export'], environment)
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.contain('policies:')
    expect((await runSignalbox(['logout'], environment)).code).to.equal(0)
    expect((await runSignalbox(['whoami'], environment)).code).to.equal(1)
    await gateway.stop()
  })
})
