import { isJsonObject, type JsonObject } from '../../../core/contract/index.ts'
import { SandboxError } from '../format.ts'

/** The fields of a message of the API; `true` for one whose own fields are not looked at. */
interface FieldTree {
  readonly [field: string]: FieldTree | true
}

const PART: FieldTree = {
  ...fields('text thought thoughtSignature videoMetadata mediaResolution executableCode codeExecutionResult'),
  inlineData: fields('mimeType data'),
  fileData: fields('mimeType fileUri'),
  functionCall: fields('id name args'),
  functionResponse: fields('id name response parts scheduling willContinue'),
}

const CONTENT: FieldTree = { ...fields('role'), parts: PART }

const GENERATION_CONFIG: FieldTree = {
  ...fields(`stopSequences responseMimeType responseSchema responseJsonSchema responseModalities candidateCount
    maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty responseLogprobs logprobs
    enableEnhancedCivicAnswers speechConfig mediaResolution`),
  thinkingConfig: fields('includeThoughts thinkingBudget thinkingLevel'),
}

const DECLARATION = fields(
  'name description behavior parameters parametersJsonSchema response responseJsonSchema',
)

const REQUEST: FieldTree = {
  ...fields('safetySettings cachedContent serviceTier store continuationToken'),
  contents: CONTENT,
  systemInstruction: CONTENT,
  tools: {
    ...fields('googleSearch codeExecution urlContext fileSearch computerUse googleMaps'),
    functionDeclarations: DECLARATION,
  },
  toolConfig: {
    ...fields('retrievalConfig includeServerSideToolInvocations'),
    functionCallingConfig: fields('mode allowedFunctionNames'),
  },
  generationConfig: GENERATION_CONFIG,
}

function fields(names: string): Readonly<Record<string, true>> {
  return Object.fromEntries(names.split(/\s+/).map((name) => [name, true]))
}

/** Throws a `Refusal` (400) that names the first field that Gemini does not know, as of November 2026. */
export function checkGeminiFields(body: JsonObject): void {
  checkKnownFields(body, REQUEST, '')
}

function checkKnownFields(value: unknown, shape: FieldTree | true, path: string): void {
  if (shape === true) return
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) checkKnownFields(each, shape, `${path}[${index}]`)
  } else if (isJsonObject(value)) {
    for (const [name, field] of Object.entries(value)) {
      const known = Object.hasOwn(shape, name) ? shape[name] : undefined
      if (known === undefined) throw unknownField(name, path)
      checkKnownFields(field, known, path === '' ? name : `${path}.${name}`)
    }
  }
}

function unknownField(name: string, path: string): SandboxError {
  const at = path === '' ? '' : ` at '${path}'`
  return new SandboxError(
    400,
    `Invalid JSON payload received. Unknown name "${name}"${at}: Cannot find field.`,
  )
}
