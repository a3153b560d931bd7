import { existsSync } from 'node:fs'
import path from 'node:path'
import { CLIENTS, type ClientLanguage, installedFolder, runInstaller, whyNoCommand } from '../language.ts'

/** The clients of Go, as one binary. Modules and compiled packages are cached beside it. */
export async function go(): Promise<ClientLanguage> {
  const folder = await installedFolder('go', ['go/go.mod', 'go/go.sum'])
  const source = path.join(CLIENTS, 'go')
  const binary = path.join(folder.path, 'clients')
  const env = {
    GOPATH: path.join(folder.path, 'path'),
    GOCACHE: path.join(folder.path, 'cache'),
    GOFLAGS: '-modcacherw',
  }
  return {
    name: 'go',
    whyMissing: () => whyNoCommand('go', ['version']),
    async install(isShort) {
      if (isShort) return
      await folder.fill(() => runInstaller('go', ['mod', 'download'], source, env))
      await runInstaller('go', ['build', '-o', binary, '.'], source, env)
    },
    isInstalled: (isShort) => isShort || existsSync(binary),
    programs: (isShort) => (isShort ? [] : [{ name: 'go', command: binary, args: [] }]),
  }
}
