import { once } from 'node:events'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { runSignalbox, spawnSignalbox } from '../support/gateway-process.ts'

describe('the program', () => {
  it('writes the output of a command to stdout, and exits with 0', async () => {
    const { code, stdout, stderr } = await runSignalbox(['log', 'backup', '--help'])
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.match(/^Usage: signalbox log backup FOLDER .*\n\n/)
  })

  it('writes the failure of a command to stderr, and exits with its code', async () => {
    const { code, stdout, stderr } = await runSignalbox(['frobnicate'])
    expect({ code, stdout }).to.deep.equal({ code: 2, stdout: '' })
    expect(stderr).to.equal('Unknown command "frobnicate".\nSee "signalbox --help".\n')
  })
})

describe('a closed pipe', () => {
  it('ends a command quietly with 0', async () => {
    const dataDir = await createLogFolder()
    await runCommand(['users', 'add', '--name', 'Ada', '--plan', 'free'], { DATA_DIR: dataDir })
    for (const args of [
      ['users', 'list'],
      ['log', 'export'],
    ]) {
      const child = spawnSignalbox(args, { DATA_DIR: dataDir })
      child.stdout.destroy()
      let stderr = ''
      child.stderr.on('data', (text) => {
        stderr += text
      })
      const [code] = await once(child, 'close')
      expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' })
    }
  })
})
