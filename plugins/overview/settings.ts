import {
  data,
  type Endpoint,
  endpoint,
  Nullable,
  operator,
  StringEnum,
  Type,
} from '../../core/contract/index.ts'
import { SETTING_SOURCES, type SettingsReport } from '../../core/pipeline/settings-report.ts'

const Setting = Type.Object(
  {
    name: Type.String({ description: 'Path of the setting, such as limits.body_bytes.' }),
    value: Type.Unknown({
      description: 'The value in force; null for a secret. [hidden] stands for texts that may be secrets.',
    }),
    default: Type.Optional(
      Type.Unknown({ description: 'The shipped value, if there is one that was replaced.' }),
    ),
    source: Type.Object(
      {
        type: StringEnum(SETTING_SOURCES, {
          description:
            'The shipped defaults, the preset of a provider, the settings file or the environment.',
        }),
        name: Type.Optional(
          Type.String({ description: 'The file or the variable; NAME_FILE for the file of a secret.' }),
        ),
      },
      { description: 'Where the value came from.' },
    ),
    variable: Type.Optional(
      Type.String({ description: 'The environment variable that sets it. Missing if there is none.' }),
    ),
    is_secret: Type.Boolean({ description: 'Whether it is a secret, which is never shown.' }),
    is_set: Type.Boolean({ description: 'Whether it has a value.' }),
    description: Type.Optional(Type.String({ description: 'What it is for.' })),
  },
  { $id: 'Setting', description: 'A setting, and where its value came from.' },
)

const Report = Type.Object(
  {
    file: Nullable(Type.String(), { description: 'The settings file (CONFIG); null if there is none.' }),
    settings: Type.Array(Setting, { description: 'All settings, in the order of the reference.' }),
  },
  { $id: 'SettingsReport', description: 'The settings of the process that answers.' },
)

/** `GET /admin/settings`. */
export function createSettingsEndpoint(report: () => SettingsReport): Endpoint {
  return endpoint({
    method: 'GET',
    path: '/admin/settings',
    access: operator('auditor'),
    operationId: 'readSettings',
    summary: 'Lists all settings in force, and where each came from.',
    description: 'Of secrets, it only says whether they are set, and by which variable or file.',
    tags: ['admin'],
    responses: { 200: { description: 'The settings.', body: data(Report) } },
    handle: async () => ({ status: 200, body: { data: report() } }),
  })
}
