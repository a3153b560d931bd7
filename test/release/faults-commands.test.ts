import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { writeSettings } from '../support/settings-file.ts'

/** Commands that work on a gateway that exists, in the embedded event log. */
const COMMANDS = [
  'users add --name Ada --plan paid',
  'users list',
  'users plan 1 free',
  'keys add 1',
  'keys revoke key_6dpGy9dqA3FxMgi8WZLNMjg5',
  'rules export',
  'rules plan RULES',
  'rules apply RULES',
  'rules test CASES',
  'what-if RULES',
  'router train',
  'router report',
  'router activate 1',
  'router rollback',
  'log export',
  'log key',
  'log verify',
  'log backup BACKUP',
]

describe('a command in a folder without a gateway', () => {
  for (const command of COMMANDS)
    it(`a command in the wrong folder: signalbox ${command} fails and creates nothing`, async () => {
      const folder = await makeFolder()
      const dataDir = path.join(folder, 'data')
      const files: Readonly<Record<string, string>> = {
        RULES: await writeSettings('users: []\n'),
        CASES: await writeSettings('cases: [{ name: Any, prompt: Hello, expect: { outcome: allowed } }]\n'),
        BACKUP: path.join(folder, 'backup'),
      }
      const args = command.split(' ').map((word) => files[word] ?? word)
      const { code, stdout, stderr } = await runCommand(args, { DATA_DIR: dataDir })
      expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
      expect(stderr).to.contain(`There is no gateway in ${dataDir}: the folder has no events.db.`)
      expect(stderr).to.contain('DATA_DIR').and.to.contain('signalbox start')
      expect(existsSync(dataDir)).to.equal(false)
      expect(await readdir(folder)).to.deep.equal([])
    })
})
