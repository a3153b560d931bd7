import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { writeSettings } from '../support/settings-file.ts'

describe('settings', () => {
  it('that are invalid are all reported, and nothing starts', async () => {
    const folder = await makeFolder()
    const config = path.join(folder, 'settings.yaml')
    await writeFile(config, 'port: -1\nplugins: []\nmodes: { cost: { quality: 1 } }\nno_such: 1\n')
    const { code, stdout, stderr } = await runCommand(['start'], {
      CONFIG: config,
      PORT: 'eighty',
      WORKERS: '0',
    })
    expect(code).to.equal(1)
    expect(stdout).to.equal('')
    for (const fault of [
      'PORT must be',
      'WORKERS',
      'port must be between 0 and 65535',
      'plugins must',
      'no_such',
    ]) {
      expect(stderr).to.contain(fault)
    }
  })

  it('are checked by "config check"', async () => {
    const folder = await makeFolder()
    const config = path.join(folder, 'settings.yaml')
    await writeFile(config, 'log_level: loud')
    const wrong = await runCommand(['config', 'check'], { CONFIG: config })
    expect(wrong.code).to.equal(1)
    expect(wrong.stderr).to.contain('log_level must be one of')
    const right = await runCommand(['config', 'check'])
    expect(right.code).to.equal(0)
    expect(right.stdout).to.match(/^Plugins: auth -> .*\nThe settings and plugins are valid\.\n$/)
  })

  it('warn of the key of an operator in place of an ADMIN_KEY of the gateway', async () => {
    const operatorKey = `op_${'x'.repeat(43)}`
    const warned = await runCommand(['config', 'check'], { ADMIN_KEY: operatorKey })
    expect(warned.code).to.equal(0)
    expect(warned.stdout)
      .to.contain('Warning: ADMIN_KEY is the key of an operator')
      .and.not.to.contain(operatorKey)
  })

  it('with invalid networks and origins are refused', async () => {
    const config = await writeSettings(
      'trusted_proxies: [10.0.0.0/8, localhost, 10.0.0.0/33]\n' +
        "cors: { origins: ['https://a.example', 'https://a.example/', 'https://*.example', 'null'] }\n",
    )
    const { code, stderr } = await runCommand(['config', 'check'], { CONFIG: config })
    expect(code).to.equal(1)
    for (const place of ['trusted_proxies[1]', 'trusted_proxies[2]'])
      expect(stderr).to.contain(`${place} must be an IP address or a CIDR block`)
    for (const place of ['cors.origins[1]', 'cors.origins[2]', 'cors.origins[3]'])
      expect(stderr).to.contain(`${place} must be "*" or an origin`)
    expect(stderr.match(/\n/g)).to.have.length(6)
  })

  it('in a file that cannot be read are refused, with its name', async () => {
    const { code, stderr } = await runCommand(['config', 'check'], { CONFIG: '/nowhere/settings.yaml' })
    expect(code).to.equal(1)
    expect(stderr).to.contain('/nowhere/settings.yaml')
  })
})
