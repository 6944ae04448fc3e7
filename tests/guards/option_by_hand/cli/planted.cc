void setup(App& app) { app.add_option("--planted", value, "An option that no table states"); }
