import type { Content, GenerateContentResponse, GenerationConfig, Tool, ToolConfig } from '@google/genai'
import type { GenerateBody } from '../../../../providers/gemini/wire.ts'

/** A type of the SDK as JSON has it: enums as their texts, everything read-only. */
export type Wire<T> = T extends string
  ? `${T}`
  : T extends readonly (infer Item)[]
    ? readonly Wire<Item>[]
    : T extends object
      ? { readonly [Field in keyof T]: Wire<T[Field]> | undefined }
      : T

/** The body of `generateContent`; the SDK itself spreads it over `GenerateContentParameters`. */
export type SdkBody = Wire<{
  contents: Content[]
  systemInstruction?: Content
  tools?: Tool[]
  toolConfig?: ToolConfig
  generationConfig?: GenerationConfig
}>

export type SdkResponse = Wire<Partial<GenerateContentResponse>>

/** `Ours`, with every field that `Theirs` does not have made impossible. */
export type Known<Ours, Theirs> = Ours extends readonly (infer Item)[]
  ? Theirs extends readonly (infer TheirItem)[]
    ? readonly Known<Item, TheirItem>[]
    : never
  : Ours extends object
    ? Theirs extends object
      ? {
          [Field in keyof Ours]: Field extends keyof Theirs
            ? Known<Ours[Field], NonNullable<Theirs[Field]>>
            : never
        }
      : Ours
    : Ours

/** Holds our wire types to the SDK's: this does not compile when a field or a value is not Gemini's. */
export const asSdk = (body: GenerateBody): SdkBody => body
export const asKnown = (body: GenerateBody): Known<GenerateBody, SdkBody> => body
