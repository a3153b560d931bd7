package main

import (
	"fmt"
	"reflect"

	"github.com/openai/openai-go/v3/packages/respjson"
)

var fieldType = reflect.TypeFor[respjson.Field]()

// valid panics if openai-go could not decode a field of the value, or a required one is missing. The client
// itself leaves such fields empty without an error.
func valid[T any](value T) T {
	checkFields(reflect.ValueOf(value), reflect.TypeOf(value).Name())
	return value
}

func checkFields(value reflect.Value, path string) {
	switch value.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !value.IsNil() {
			checkFields(value.Elem(), path)
		}
	case reflect.Slice:
		for i := range value.Len() {
			checkFields(value.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Struct:
		if variant := value.MethodByName("AsAny"); variant.IsValid() {
			if known := variant.Call(nil)[0]; !known.IsNil() {
				checkFields(known.Elem(), path)
			}
			return
		}
		checkStruct(value, path)
	}
}

func checkStruct(value reflect.Value, path string) {
	metadata := value.FieldByName("JSON")
	if !metadata.IsValid() || metadata.Kind() != reflect.Struct {
		return
	}
	for i := range value.NumField() {
		field := value.Type().Field(i)
		described := metadata.FieldByName(field.Name)
		if !described.IsValid() || described.Type() != fieldType {
			continue
		}
		name := path + "." + field.Name
		state := described.Interface().(respjson.Field)
		raw, api := state.Raw(), field.Tag.Get("api")
		check(raw == "" || raw == "null" || state.Valid(), "%s: %s", name, raw)
		check(raw != "" || api != "required" || optional[name], "%s is missing", name)
		if state.Valid() {
			checkFields(value.Field(i), name)
		}
	}
}

// Fields that the client calls required, and that only OpenAI itself can know.
var optional = map[string]bool{}
