import { existsSync } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import path from 'node:path'
import {
  CLIENTS,
  type ClientLanguage,
  installedFolder,
  runInstaller,
  type Versions,
  whyNoCommand,
} from '../language.ts'

/** The clients of Go, as one binary. Modules and compiled packages are cached beside it. */
export async function go(versions: Versions): Promise<ClientLanguage> {
  const folder = await installedFolder('go', ['go/go.mod', 'go/go.sum'], versions)
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
      const modules = `-modfile=${path.join(folder.path, 'go.mod')}`
      await folder.fill(async (target) => {
        for (const file of ['go.mod', 'go.sum']) await cp(path.join(source, file), path.join(target, file))
        if (versions === 'pinned') return await runInstaller('go', ['mod', 'download'], source, env)
        const manifest = await readFile(path.join(source, 'go.mod'), 'utf8')
        await runInstaller('go', ['get', modules, ...newestModules(manifest)], source, env)
      })
      await runInstaller('go', ['build', modules, '-o', binary, '.'], source, env)
    },
    isInstalled: (isShort) => isShort || existsSync(binary),
    programs: (isShort) => (isShort ? [] : [{ name: 'go', command: binary, args: [] }]),
  }
}

/** The direct requirements of a `go.mod`, for `go get`. New major versions have other paths. */
function newestModules(manifest: string): readonly string[] {
  return [...manifest.matchAll(/^\t(\S+) v\S+$/gm)].map(([, module]) => `${module}@latest`)
}
